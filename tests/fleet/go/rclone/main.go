// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026, the federated.flower authors

// rclone with the backends and commands that the hub's container for object storage uses. Others take the compiler many minutes.
package main

import (
	_ "github.com/rclone/rclone/backend/local"
	_ "github.com/rclone/rclone/backend/s3"
	"github.com/rclone/rclone/cmd"
	_ "github.com/rclone/rclone/cmd/cat"
	_ "github.com/rclone/rclone/cmd/copy"
	_ "github.com/rclone/rclone/cmd/lsjson"
	_ "github.com/rclone/rclone/cmd/moveto"
	_ "github.com/rclone/rclone/cmd/rcat"
	_ "github.com/rclone/rclone/cmd/version"
)

func main() {
	cmd.Main()
}
