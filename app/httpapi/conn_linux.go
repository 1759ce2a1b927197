package httpapi

import "syscall"

// peerClosed looks at the socket without taking a byte from it: no bytes and
// no error are the end of the stream.
func peerClosed(fd uintptr) bool {
	var b [1]byte
	for {
		n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		switch err {
		case syscall.EINTR:
			continue
		case nil:
			return n == 0
		case syscall.EAGAIN:
			return false
		}
		return true
	}
}
