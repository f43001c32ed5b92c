//go:build unix

package redistest

import "syscall"

// Freeze makes the server hang until Thaw or Kill: it accepts connections and answers
// nothing.
func (s *Server) Freeze() { s.signal(syscall.SIGSTOP) }

// Thaw ends Freeze.
func (s *Server) Thaw() { s.signal(syscall.SIGCONT) }

func (s *Server) signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}
