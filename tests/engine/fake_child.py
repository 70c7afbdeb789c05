"""A child process without Spark, which speaks the engine's protocol and misbehaves on request."""

from __future__ import annotations

import os
import subprocess
import sys
import time

import orjson


def send(event: str, **fields: object) -> None:
    sys.stdout.buffer.write(orjson.dumps({"event": event, **fields}) + b"\n")
    sys.stdout.buffer.flush()


def main(habits: set[str]) -> None:
    if "dies-at-once" in habits:
        sys.stderr.write("Error: no room\n")
        sys.exit(3)
    sys.stdin.readline()
    sys.stdout.write("some library's greeting\n")
    if "has-a-jvm" in habits:
        jvm = subprocess.Popen(["sleep", "600"], stdout=subprocess.DEVNULL)
        sys.stderr.write(f"jvm {jvm.pid}\n")
        sys.stderr.flush()
    slots = 0 if "executors-come-on-stop" in habits else 16
    send("ready", spark="none", slots=slots, shuffle_partitions=2)
    if "dies-when-ready" in habits:
        sys.exit(4)
    starts = 0
    for line in sys.stdin:
        command = orjson.loads(line)
        number = command["generation"] if command["do"] == "stop" else command["spec"]["generation"]
        if f"dies-on-{command['do']}" in habits:
            os._exit(5)
        starts += command["do"] == "start"
        if command["do"] == "start" and "fails-second-start" in habits and starts == 2:
            send("failed", generation=number, condition="QUERY_FAILED", message="a hiccup", retriable=True)
        elif command["do"] == "start" and "refuses" in habits:
            send("failed", generation=number, condition="NO_WAY", message="never", retriable=False)
        elif command["do"] == "start" and "ignores-starts" not in habits:
            send("started", generation=number, query_id="q", run_id=str(os.getpid()))
            if "commits-first" in habits:
                send("progress", generation=number, epoch=7, left={"0": 5}, right={"0": 6})
            if "fails-later" in habits:
                send("failed", generation=number, condition="QUERY_FAILED", message="a hiccup", retriable=True)
            if slots == 0:
                send("failed", generation=number, condition="NOT_ENOUGH_SLOTS", message="0 free", retriable=True)
        elif command["do"] == "stop":
            time.sleep(1.0 if "stops-slowly" in habits else 0.0)
            if slots == 0:
                slots = 16
                send("slots", slots=slots)
            send("stopped", generation=number)
            send("released", generation=number)


main(set(sys.argv[1:]))
