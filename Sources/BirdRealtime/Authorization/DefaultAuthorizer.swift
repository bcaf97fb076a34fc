import Foundation
import WebSocketCore

/// The authorizers that ask the backend's endpoints: JSON there, JSON back.
struct DefaultAuthorizer: Sendable {
    let transport: any AuthTransport
    let headers: [String: String]
    let provider: AuthHeadersProvider?

    func authorize(channel: String, connection: String, at endpoint: AuthEndpoint) async throws -> ChannelAuth
    {
        let (status, answer) = try await ask(
            endpoint, ["connection_id": connection, "channel_name": channel])
        guard let auth = answer["auth"] as? String, !auth.isEmpty else {
            throw endpoint.error("the answer has no \"auth\"", status: status)
        }
        return ChannelAuth(
            auth: auth, memberData: answer["member_data"] as? String,
            sharedSecret: answer["shared_secret"] as? String)
    }

    func authorizeMember(connection: String, at endpoint: AuthEndpoint) async throws -> MemberAuth {
        let (status, answer) = try await ask(endpoint, ["connection_id": connection])
        guard let auth = answer["auth"] as? String, !auth.isEmpty else {
            throw endpoint.error("the answer has no \"auth\"", status: status)
        }
        guard let data = answer["member_data"] as? String, !data.isEmpty else {
            throw endpoint.error("the answer has no \"member_data\"", status: status)
        }
        return MemberAuth(auth: auth, memberData: data)
    }

    private func ask(_ endpoint: AuthEndpoint, _ question: [String: String]) async throws -> (
        status: Int, fields: [String: Any]
    ) {
        let body = try JSONSerialization.data(withJSONObject: question, options: [.sortedKeys])
        let answer = try await transport.post(Array(body), headers: currentHeaders(), to: endpoint)
        guard (200..<300).contains(answer.status) else {
            throw endpoint.error("the endpoint answered with status \(answer.status)", status: answer.status)
        }
        guard let fields = JSONText.value(of: answer.body) as? [String: Any] else {
            throw endpoint.error("the answer is not a JSON object", status: answer.status)
        }
        return (answer.status, fields)
    }

    private func currentHeaders() async throws -> [String: String] {
        // Names of header fields do not differ by case: the later one of a pair wins.
        var merged: [String: (name: String, value: String)] = [:]
        for (name, value) in headers { merged[name.lowercased()] = (name, value) }
        if let provider {
            for (name, value) in try await provider() { merged[name.lowercased()] = (name, value) }
        }
        for (name, value) in merged.values {
            // What could end a line would let a value become a header, or a request, of its own.
            guard HTTPGrammar.isToken(name), HTTPGrammar.isFieldValue(value) else {
                throw RealtimeError(message: "the authorization header \"\(name)\" cannot be sent as it is")
            }
        }
        merged["content-type"] = ("Content-Type", "application/json")
        return Dictionary(merged.values.map { ($0.name, $0.value) }, uniquingKeysWith: { $1 })
    }
}
