"""A bandit whose every decision and reward is an entry of a journal: event sourcing.

    command -> decide(state) -> event -> state.apply(event) -> store.append(entries)

`study`      what users call
`commands`   `Ask`, `Tell`, `Correct`, `Amend`, `Learn`: each decides on the state, and gives events
`events`     what happened, as it stands in the journal; `journal` chains the entries by hashes
`state`      what applying all events comes to: `apply` is its only change, live and in replay
`executor`   runs commands one at a time, and appends the events of all that came together in one commit
`snapshot`   states kept at intervals along the journal, from which starts, proofs and erasures replay
`known_keys` which keys have a decision: of one that has its reward the state knows the key alone
`stores`     SQLite, for one process, with old entries in files (`archive`); PostgreSQL, for several

Decisions by other rules than the policy are in `assigned`; `explain`, `verify`, `export` and `lift` read
the journal; `inspection` does so beside the process that has a study open.
"""
