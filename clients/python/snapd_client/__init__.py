"""A small, synchronous, typed client for snapd that needs only the standard library.

```python
from snapd_client import Client

with Client.spawn(["snapd", "connect"]) as client:
    client.initialize(["."])
    before = client.track()["hash"]
```

The shapes of the answers are `TypedDict`s in `snapd_client.types`. The client imports them for type checkers only.
"""

from __future__ import annotations

from snapd_client.client import Client
from snapd_client.connection import Cancellation
from snapd_client.errors import Cancelled, ClientError, ConnectionLost, FramingError, RequestTimeout, SnapdError
from snapd_client.notifications import Notification, Progress, Subscription
from snapd_client.uris import from_uri, to_uri

__all__ = [
    "Cancellation",
    "Cancelled",
    "Client",
    "ClientError",
    "ConnectionLost",
    "FramingError",
    "Notification",
    "Progress",
    "RequestTimeout",
    "SnapdError",
    "Subscription",
    "from_uri",
    "to_uri",
]
