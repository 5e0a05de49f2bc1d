"""A bandit whose every decision and reward is an entry of a journal: event sourcing.

    command -> decide(state) -> event -> state.apply(event) -> store.append(entries)

`Ask`, `Tell`, `Correct` and `Amend` are commands. `apply` is the only change of a state, live and in
replay. A decision that waits for its reward is in `state.open`; of any other the state knows the key
alone, and `state.find` reads it from the journal.

The executor runs one command at a time; its worker appends the events of all that came together in one
commit, and then answers. Where this process alone may append (SQLite), commands run where they come from,
while the worker writes. Where others may (PostgreSQL), the worker runs them inside `store.transaction()`,
after it has applied what others appended; a counter that moves with each append lets but one instance
take a round.

After a failed append the events stay, and are looked for in the journal before the next append. A command
that breaks off half-way leaves nothing: the state is built anew from the nearest snapshot and the
journal.

Snapshots stand at intervals along the journal, and each says which erased entries it was made without: it is
used if these are the ones that the journal says. So a start and an explanation replay no more than an
interval. To erase a unit is to replay the journal without its entries, from the last snapshot before them;
the replay leaves new snapshots behind, and those that have learnt from the unit go. Keys of decisions are
kept apart from snapshots, in runs that are written once. Old entries can be moved to files (`archive`).
"""
