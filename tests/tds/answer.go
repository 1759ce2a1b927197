package tds

import (
	"encoding/binary"
	"unicode/utf16"
)

// Tokens, [MS-TDS] 2.2.7.
const (
	tokenReturnStatus = 0x79
	tokenColumns      = 0x81
	tokenError        = 0xaa
	tokenInfo         = 0xab
	tokenLoginAck     = 0xad
	tokenRow          = 0xd1
	tokenEnvChange    = 0xe3
	tokenDone         = 0xfd
	tokenDoneProc     = 0xfe
	tokenDoneInProc   = 0xff
)

// Bits of a DONE's status, [MS-TDS] 2.2.7.6.
const (
	doneMore          = 0x01
	doneError         = 0x02
	doneInTransaction = 0x04
	doneCount         = 0x10
	doneAttention     = 0x20
	doneServerError   = 0x100
)

// Types of ENVCHANGE, [MS-TDS] 2.2.7.9.
const (
	envDatabase   = 1
	envPacketSize = 4
	envCollation  = 7
	envBegin      = 8
	envCommit     = 9
	envRollback   = 10
	envReset      = 18
)

const (
	commandSelect = 0xc1
	collationSize = 5
)

// collation is Latin1_General_CI_AS, the usual default of a server.
var collation = [collationSize]byte{0x09, 0x04, 0xd0, 0x00, 0x34}

// ending is how a reply goes on after its last step.
type ending int

const (
	goesOn      ending = iota
	cut                // the connection is closed
	complete           // the answer is whole, and then the connection is closed
	hang               // nothing more until an attention, which is confirmed
	hangThenCut        // nothing more until an attention, then closed
)

// answer gathers the tokens of one reply.
type answer struct {
	conn    *conn
	request Kind
	data    []byte
	end     ending
	err     error // the test's mistake: a value that its column cannot hold

	open     int   // where the last DONE's status is, 0 when tokens followed it
	last     int32 // number of the last error, 0 if none
	terminal bool  // the batch was aborted: no return status follows
}

// token starts one.
func (a *answer) token(id byte) {
	a.more()
	a.data = append(a.data, id)
}

// more says in the DONE before, if there is one, that it is not the last.
func (a *answer) more() {
	if a.open > 0 {
		a.data[a.open] |= doneMore
		a.open = 0
	}
}

func (a *answer) done(id byte, status, command uint16, count int64) {
	if a.conn.inTransaction() {
		status |= doneInTransaction
	}
	a.token(id)
	a.open = len(a.data)
	a.data = binary.LittleEndian.AppendUint16(a.data, status)
	a.data = binary.LittleEndian.AppendUint16(a.data, command)
	a.data = binary.LittleEndian.AppendUint64(a.data, uint64(count))
}

// statement ends one statement of a batch or procedure.
func (a *answer) statement(status, command uint16, count int64) {
	id := byte(tokenDone)
	if a.request == RPC {
		id = tokenDoneInProc
	}
	a.done(id, status, command, count)
}

// finish ends the whole: a procedure always with a DONEPROC of its own, a batch
// with a DONE where its last statement did not get one.
func (a *answer) finish() {
	status := uint16(0)
	if a.last != 0 {
		status = doneError
	}
	if a.request != RPC {
		if a.open == 0 {
			a.done(tokenDone, status, 0, 0)
		}
		return
	}
	if !a.terminal { // sp_executesql returns @@ERROR
		a.token(tokenReturnStatus)
		a.data = binary.LittleEndian.AppendUint32(a.data, uint32(a.last))
	}
	a.done(tokenDoneProc, status, 0, 0)
}

func (a *answer) envChange(kind byte, newValue, oldValue []byte) {
	if newValue == nil {
		newValue = []byte{0}
	}
	if oldValue == nil {
		oldValue = []byte{0}
	}
	a.token(tokenEnvChange)
	a.data = binary.LittleEndian.AppendUint16(a.data, uint16(1+len(newValue)+len(oldValue)))
	a.data = append(a.data, kind)
	a.data = append(a.data, newValue...)
	a.data = append(a.data, oldValue...)
}

// message writes an ERROR or INFO.
func (a *answer) message(id byte, number int32, state, class byte, text, procedure string, line int32) {
	body := binary.LittleEndian.AppendUint32(nil, uint32(number))
	body = append(body, state, class)
	units := utf16.Encode([]rune(text))
	body = binary.LittleEndian.AppendUint16(body, uint16(len(units)))
	body = appendUnits(body, units)
	body = append(body, text8("responder")...)
	body = append(body, text8(procedure)...)
	body = binary.LittleEndian.AppendUint32(body, uint32(line))
	a.token(id)
	a.data = binary.LittleEndian.AppendUint16(a.data, uint16(len(body)))
	a.data = append(a.data, body...)
}

// text8 is s in UTF-16 behind its length in one byte.
func text8(s string) []byte {
	units := utf16.Encode([]rune(s))
	return appendUnits([]byte{byte(len(units))}, units)
}

func appendUnits(b []byte, units []uint16) []byte {
	for _, u := range units {
		b = binary.LittleEndian.AppendUint16(b, u)
	}
	return b
}

// descriptor is a transaction's in the form of ENVCHANGE.
func descriptor(d uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{8}, d)
}
