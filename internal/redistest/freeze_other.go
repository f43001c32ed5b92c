//go:build !unix

package redistest

// Freeze skips the test: only Unix can stop a process.
func (s *Server) Freeze() { s.t.Skip("only Unix can stop a process") }

// Thaw does nothing.
func (s *Server) Thaw() {}
