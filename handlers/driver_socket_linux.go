package handlers

import (
	"syscall"
	"time"
)

// Bounds of what the kernel keeps for a client that does not read: about twice sendBuffer bytes, for at most
// userTimeout.
const (
	sendBuffer  = 32 << 10
	userTimeout = 30 * time.Second
)

// Options that syscall lacks.
const (
	tcpUserTimeout  = 0x12 // TCP_USER_TIMEOUT
	tcpNotSentLowat = 0x19 // TCP_NOTSENT_LOWAT
)

// limitSocket limits what the kernel keeps for the socket of a stream. A failure is
// ignored: the socket then costs more.
func limitSocket(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_SNDBUF, sendBuffer)
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
}

// limitSharedSocket limits a socket that carries other answers too. It limits the bytes that were not sent
// yet, but not the bytes on their way, since a large answer to a far client needs many of them.
func limitSharedSocket(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpNotSentLowat, sendBuffer)
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
}
