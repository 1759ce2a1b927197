package tds

import (
	"encoding/binary"
	"errors"
	"strconv"
)

// PRELOGIN options, [MS-TDS] 2.2.6.5.
const (
	optionVersion    = 0
	optionEncryption = 1
	optionInstance   = 2
	optionMARS       = 4
	optionsEnd       = 0xff

	encryptionNotSupported = 2
)

// prelogin answers PRELOGIN: no encryption, one request at a time.
func prelogin() []byte {
	options := []struct {
		id    byte
		value []byte
	}{
		{optionVersion, []byte{16, 0, 0, 0, 0, 0}},
		{optionEncryption, []byte{encryptionNotSupported}},
		{optionInstance, []byte{0}},
		{optionMARS, []byte{0}},
	}
	var index, values []byte
	start := 5*len(options) + 1
	for _, o := range options {
		index = append(index, o.id)
		index = binary.BigEndian.AppendUint16(index, uint16(start+len(values)))
		index = binary.BigEndian.AppendUint16(index, uint16(len(o.value)))
		values = append(values, o.value...)
	}
	return append(append(index, optionsEnd), values...)
}

// login is what the responder needs of LOGIN7.
type login struct {
	packetSize int
	database   string
}

// Offsets within LOGIN7, [MS-TDS] 2.2.6.4.
const (
	loginPacketSize = 8
	loginDatabase   = 68 // where it is and how many characters it has
	loginFixedSize  = 94
)

func parseLogin(data []byte) (login, error) {
	if len(data) < loginFixedSize {
		return login{}, errors.New("LOGIN7 is too short")
	}
	size := int(binary.LittleEndian.Uint32(data[loginPacketSize:]))
	at := int(binary.LittleEndian.Uint16(data[loginDatabase:]))
	n := int(binary.LittleEndian.Uint16(data[loginDatabase+2:]))
	if at+2*n > len(data) {
		return login{}, errors.New("LOGIN7 names a place behind its end")
	}
	return login{
		packetSize: min(max(size, minPacketSize), maxPacketSize),
		database:   decodeText(data[at : at+2*n]),
	}, nil
}

// login writes the answer to an accepted LOGIN7.
func (a *answer) login(l login) {
	const sqlInterface = 1
	a.envChange(envDatabase, text8(l.database), text8("master"))
	a.envChange(envCollation, append([]byte{collationSize}, collation[:]...), nil)

	ack := []byte{sqlInterface, 0x74, 0, 0, 4} // TDS 7.4
	ack = append(ack, text8("Microsoft SQL Server")...)
	ack = append(ack, 16, 0, 0, 0)
	a.token(tokenLoginAck)
	a.data = binary.LittleEndian.AppendUint16(a.data, uint16(len(ack)))
	a.data = append(a.data, ack...)

	size := strconv.Itoa(l.packetSize)
	a.envChange(envPacketSize, text8(size), text8(strconv.Itoa(defaultPacketSize)))
	a.done(tokenDone, 0, 0, 0)
}
