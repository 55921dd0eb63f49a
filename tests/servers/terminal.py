"""Commands in a pseudo-terminal."""

import os
import pty
import select
import subprocess
import time


class Terminal:
    """A command in a pseudo-terminal, as a person has it."""

    def __init__(self, *command):
        self.master, slave = pty.openpty()
        self.process = subprocess.Popen([str(word) for word in command], stdin=slave, stdout=slave, stderr=slave)
        os.close(slave)

    def until(self, words, seconds=120):
        """All that is written until `words` are."""
        seen, deadline = "", time.monotonic() + seconds
        while words not in seen:
            ready, _, _ = select.select([self.master], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                self.process.kill()  # nothing is left behind by a test that fails
                self.process.wait()
            assert ready, f"waited for {words!r}, saw {seen!r}"
            try:
                seen += os.read(self.master, 65536).decode()
            except OSError:
                break
        return seen

    def type(self, line):
        os.write(self.master, f"{line}\n".encode())

    def end(self):
        code = self.process.wait(120)
        os.close(self.master)
        return code
