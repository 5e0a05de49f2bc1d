"""An hour of operating services that are never stopped, under load: `make operate` (or `MINUTES=2`).

Three instances of `infex serve` run here: two share a PostgreSQL server, one has a SQLite file. Each database
has two studies. Visitors ask and tell over HTTP (`load`), an operator amends, corrects, erases and reads over
HTTP (`operations`), and things go wrong: instances are killed, disks fill up, the server crashes (`systems`).
All that was acknowledged goes into a `ledger` outside of the services. At the end it is compared with what
they have, and estimates with a ridge regression in NumPy (`checks`).

Disks are small file systems in files, so mounting them needs root. Service and load share the machine:
latencies are those of a busy machine, not of the service alone.
"""
