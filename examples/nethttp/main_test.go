package main

import (
	"testing"

	"github.com/rollcall-go/rollcall/examples/internal/signintest"
)

func TestSite(t *testing.T) { signintest.Run(t, newSite) }
