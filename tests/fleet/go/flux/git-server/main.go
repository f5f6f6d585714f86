// SPDX-License-Identifier: Apache-2.0
// Copyright (c) 2026, the federated.flower authors

// Command git-server serves the repositories in a folder by HTTP, by Git's own http-backend: git-server ADDRESS FOLDER.
package main

import (
	"log"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
)

func main() {
	git, err := exec.LookPath("git")
	if err != nil {
		log.Fatal(err)
	}
	backend := &cgi.Handler{
		Path: git,
		Args: []string{"http-backend"},
		Env:  []string{"GIT_PROJECT_ROOT=" + os.Args[2], "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=fleet"}, // a user may push
	}
	log.Fatal(http.ListenAndServe(os.Args[1], backend))
}
