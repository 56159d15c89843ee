#!/bin/sh
# The service is not started: without a key it answers this machine only, and whoever installs it decides.
set -e
if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
