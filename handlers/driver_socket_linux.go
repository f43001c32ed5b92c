package handlers

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"
)

// Bounds of what the kernel keeps for a client that does not read: twice sendBuffer in
// bytes, for at most userTimeout.
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

// Bounds of a proof by TCP.
const (
	leastProofTTL = 3 * time.Second     // below, the kernel's whole seconds are too coarse
	longestIdle   = 32767 * time.Second // that the kernel takes
)

// proveSocket has the kernel notice within a TTL that the client of a socket has vanished,
// and reports whether it will. After a third of the TTL without a word of the client the
// kernel asks for one, and then once in a ninth. It gives up a connection that has been
// silent for about 6/9, or if data are under way 11/18 after these were sent, which is at
// most 17/18 after the last word: a stream sends a heartbeat in a third of the TTL.
func proveSocket(fd int, ttl time.Duration) bool {
	if ttl < leastProofTTL {
		return false
	}
	seconds := func(d time.Duration) int { return int(min(max(d, time.Second), longestIdle) / time.Second) }
	for _, o := range []struct{ level, name, value int }{
		{syscall.SOL_SOCKET, syscall.SO_KEEPALIVE, 1},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPIDLE, seconds(ttl / 3)},
		{syscall.IPPROTO_TCP, syscall.TCP_KEEPINTVL, seconds(ttl / 9)},
		{syscall.IPPROTO_TCP, tcpUserTimeout, int(min(userTimeout, ttl*11/18).Milliseconds())},
	} {
		if syscall.SetsockoptInt(fd, o.level, o.name, o.value) != nil {
			return false
		}
	}
	_, ok := silence(fd)
	return ok
}

// silence returns for how long nothing has come from the client of a socket, not even an
// acknowledgement.
func silence(fd int) (d time.Duration, ok bool) {
	var info [tcpInfoSize]byte
	size := uint32(len(info))
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, uintptr(fd), syscall.IPPROTO_TCP, syscall.TCP_INFO,
		uintptr(unsafe.Pointer(&info)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 || size < tcpInfoSize {
		return 0, false
	}
	lastData := binary.NativeEndian.Uint32(info[tcpInfoLastDataRecv:])
	lastAck := binary.NativeEndian.Uint32(info[tcpInfoLastAckRecv:])
	return time.Duration(min(lastData, lastAck)) * time.Millisecond, true
}

// Where struct tcp_info of Linux has what silence reads.
const (
	tcpInfoLastDataRecv = 52
	tcpInfoLastAckRecv  = 56
	tcpInfoSize         = 60
)

// vanished reports whether an error of a socket means that nothing came from the client any
// more, or that no way leads to it.
func vanished(err error) bool {
	return err == syscall.ETIMEDOUT || err == syscall.EHOSTUNREACH || err == syscall.ENETUNREACH || err == syscall.EHOSTDOWN
}

// limitSharedSocket does so for a socket that carries other answers too. It limits the
// bytes that were not sent yet. It does not limit those on their way, since a large
// answer to a far client needs many of them.
func limitSharedSocket(fd int) {
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpNotSentLowat, sendBuffer)
	_ = syscall.SetsockoptInt(fd, syscall.IPPROTO_TCP, tcpUserTimeout, int(userTimeout.Milliseconds()))
}
