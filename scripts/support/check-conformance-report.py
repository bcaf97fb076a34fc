"""Compares what the Autobahn fuzzing server found with what Tests/Conformance/expected.json says.

check-conformance-report.py EXPECTED AGENT SELECTION SCHEME CASES-SERVED INDEX.JSON...

Prints `N ok, N non-strict, N informational, N failed`, then every case that differs from the expectation.
CASES-SERVED is the number the server said it would run, 0 where that is not known.
"""

import json
import os
import sys

# From best to worst; whatever the server may say beyond these (FAILED, WRONG CODE, UNCLEAN, ...) is a failure.
RANKS = ["OK", "INFORMATIONAL", "NON-STRICT", "FAILED"]


def rank(word):
    return RANKS.index(word) if word in RANKS else RANKS.index("FAILED")


def case_order(name):
    return [int(part) if part.isdigit() else part for part in name.split(".")]


def main():
    expected_path, agent, selection, scheme, served, *indices = sys.argv[1:]
    with open(expected_path) as file:
        expected = json.load(file)

    cases = {}
    for path in indices:
        try:
            with open(path) as file:
                report = json.load(file).get(agent, {})
        except FileNotFoundError:
            sys.exit(f"{scheme}: no report at {path}: the client did not ask the server for one")
        for name, case in report.items():
            cases[name] = dict(case, report=os.path.join(os.path.dirname(path), case["reportfile"]))

    outcomes = {}
    for name, case in cases.items():
        outcomes[name] = RANKS[max(rank(case["behavior"]), rank(case["behaviorClose"]))]
    count = {word: sum(1 for outcome in outcomes.values() if outcome == word) for word in RANKS}
    print(
        f"{scheme}: {count['OK']} ok, {count['NON-STRICT']} non-strict, "
        f"{count['INFORMATIONAL']} informational, {count['FAILED']} failed"
    )

    accepted = {name: word.upper() for word, names in expected["outcomes"].items() for name in names}
    differences = []
    for name in sorted(outcomes, key=case_order):
        wanted = accepted.get(name, "OK")
        if outcomes[name] != wanted:
            case = cases[name]
            html = os.path.splitext(case["report"])[0] + ".html"
            differences.append(
                f"  case {name}: {case['behavior']}, close {case['behaviorClose']}, expected {wanted}: "
                f"{html if os.path.exists(html) else case['report']}"
            )

    wanted_count = expected["cases"].get(selection, {}).get(scheme) or int(served)
    if not cases:
        differences.append("  no case ran")
    elif wanted_count and len(cases) != wanted_count:
        differences.append(f"  {len(cases)} cases have a result, expected {wanted_count}")

    if differences:
        print(f"{scheme}: not as expected:")
        print("\n".join(differences))
        sys.exit(1)


main()
