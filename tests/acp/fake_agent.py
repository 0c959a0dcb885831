"""An agent that says what a test says in its place: it joins its standard streams to a socket of the test's.

    python fake_agent.py SOCKET EXIT_CODE

It ends with that exit code once the test hangs up.
"""

import os
import signal
import socket
import sys
import threading


def carry(read, write, over):
    while data := read(1 << 16):
        write(data)
    over()


# as most programs do: without a word
signal.signal(signal.SIGINT, signal.SIG_DFL)
test = socket.socket(socket.AF_UNIX)
test.connect(sys.argv[1])
heard = threading.Thread(
    target=carry, args=(lambda most: os.read(0, most), test.sendall, lambda: test.shutdown(socket.SHUT_WR)), daemon=True
)
heard.start()


def say(data):
    while data:
        data = data[os.write(1, data) :]


carry(test.recv, say, lambda: None)
os._exit(int(sys.argv[2]))
