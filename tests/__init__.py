"""Tests of snapd."""
