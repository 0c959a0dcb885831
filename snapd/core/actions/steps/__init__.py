"""What steps changed, and how sessions and steps are described, whether they are of this folder or were fetched."""
