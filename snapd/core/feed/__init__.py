"""What a workspace announces without being asked: notifications, in one order for all clients."""
