package main

import "golang.org/x/sys/unix"

// Packets are what the kernel counted at a crowd's open sockets, keepalive probes among them.
type Packets struct {
	Open     int
	Segments int // both ways
	Bytes    int // both ways, without headers
}

// Packets counts them.
func (c *Crowd) Packets(_ struct{}, sum *Packets) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for fd := range c.pages {
		info, err := unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		if err != nil {
			return err
		}
		sum.Open++
		sum.Segments += int(info.Segs_in) + int(info.Segs_out)
		sum.Bytes += int(info.Bytes_received) + int(info.Bytes_acked)
	}
	return nil
}
