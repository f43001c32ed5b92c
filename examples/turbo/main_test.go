package main

import (
	"testing"

	"github.com/rollcall-go/rollcall/examples/internal/onepage/onepagetest"
)

// Turbo alone keeps the widget live, under a strict policy.
func TestPage(t *testing.T) { onepagetest.Run(t, site()) }
