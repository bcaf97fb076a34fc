#ifndef SHIM_OPENSSL_H
#define SHIM_OPENSSL_H
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>
#include <openssl/x509v3.h>

// What follows are macros or variadic functions, which Swift does not import.
static inline void shim_ctx_set_safe_options(SSL_CTX *c) { SSL_CTX_set_options(c, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION); }
static inline void shim_name_print(BIO *bio, const X509_NAME *name) { X509_NAME_print_ex(bio, name, 0, XN_FLAG_ONELINE & ~ASN1_STRFLGS_ESC_MSB); }
static inline long shim_ctx_set_min_version(SSL_CTX *c, int v) { return SSL_CTX_set_min_proto_version(c, v); }
static inline long shim_ctx_set_max_version(SSL_CTX *c, int v) { return SSL_CTX_set_max_proto_version(c, v); }
static inline long shim_ctx_set_mode(SSL_CTX *c, long mode) { return SSL_CTX_set_mode(c, mode); }
static inline long shim_ctx_set_read_ahead(SSL_CTX *c, int on) { return SSL_CTX_set_read_ahead(c, on); }
static inline long shim_ctx_set_session_cache(SSL_CTX *c, long mode) { return SSL_CTX_set_session_cache_mode(c, mode); }
static inline long shim_set_host_name(SSL *s, const char *name) { return SSL_set_tlsext_host_name(s, (char *)name); }
static inline int shim_ctx_add_chain(SSL_CTX *c, X509 *x) { return (int)SSL_CTX_add0_chain_cert(c, x); }
static inline EVP_PKEY *shim_ec_p256_key(void) { return EVP_EC_gen("P-256"); }
static inline long shim_bio_bytes(BIO *bio, char **start) { return BIO_get_mem_data(bio, start); }
static inline int shim_name_count(const GENERAL_NAMES *names) { return sk_GENERAL_NAME_num(names); }
static inline const GENERAL_NAME *shim_name_at(const GENERAL_NAMES *names, int i) { return sk_GENERAL_NAME_value(names, i); }
static inline int shim_error_reason(unsigned long code) { return ERR_GET_REASON(code); }
static inline int shim_error_library(unsigned long code) { return ERR_GET_LIB(code); }
static inline int shim_error_is_end_of_pem(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}
static inline void shim_x509v3_context(X509V3_CTX *c, X509 *issuer, X509 *subject) {
    X509V3_set_ctx_nodb(c);
    X509V3_set_ctx(c, issuer, subject, NULL, NULL, 0);
}
// Unions inside GENERAL_NAME: the text of a DNS name, the bytes of an address.
static inline const unsigned char *shim_name_bytes(const GENERAL_NAME *name, int *type, int *count) {
    *type = name->type;
    if (name->type != GEN_DNS && name->type != GEN_IPADD) { *count = 0; return NULL; }
    const ASN1_STRING *text = name->type == GEN_DNS ? name->d.dNSName : name->d.iPAddress;
    *count = ASN1_STRING_length(text);
    return ASN1_STRING_get0_data(text);
}

#endif
