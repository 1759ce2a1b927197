//go:build !unix

package postgres

import "net"

// gone cannot tell here.
func gone(net.Conn) bool { return false }
