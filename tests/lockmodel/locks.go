package lockmodel

// mode is a lock mode on a key: the key itself and the gap before it.
type mode uint8

const (
	none mode = iota
	modeS
	modeU
	modeX
	rangeSS
	rangeSU
	rangeIN
	rangeXX
	modeCount
)

func (m mode) String() string {
	return [...]string{"no lock", "S", "U", "X", "RangeS-S", "RangeS-U", "RangeI-N", "RangeX-X"}[m]
}

// matrix says at [requested][granted] whether two transactions may hold both.
type matrix [modeCount][modeCount]bool

// documented returns the matrix of the locking guide, row by row as printed
// there; nothing conflicts with no lock.
func documented() matrix {
	const y, n = true, false
	return matrix{
		none: {y, y, y, y, y, y, y, y},
		//        -  S  U  X  SS SU IN XX
		modeS:   {y, y, y, n, y, y, y, n},
		modeU:   {y, y, n, n, y, n, y, n},
		modeX:   {y, n, n, n, n, n, y, n},
		rangeSS: {y, y, y, n, y, y, n, n},
		rangeSU: {y, y, n, n, y, n, n, n},
		rangeIN: {y, y, y, y, n, n, y, n},
		rangeXX: {y, n, n, n, n, n, n, n},
	}
}

// convert returns the mode in which one transaction holds a key after it asked
// for both: the stronger range and the stronger key. There is no RangeS-X, so a
// range over a key held in X is RangeX-X. RangeI-N never gets here, as it is
// never kept.
func convert(a, b mode) mode {
	ranged := a >= rangeSS || b >= rangeSS
	key := max(keyPart(a), keyPart(b))
	switch {
	case !ranged:
		return key
	case key == modeX:
		return rangeXX
	case key == modeU:
		return rangeSU
	default:
		return rangeSS
	}
}

// keyPart is the lock on the key itself, without the gap.
func keyPart(m mode) mode {
	switch m {
	case rangeSS:
		return modeS
	case rangeSU:
		return modeU
	case rangeXX:
		return modeX
	case rangeIN:
		return none
	default:
		return m
	}
}

// covers reports whether a lock already held makes the wanted one a no-op.
func covers(held, wanted mode) bool {
	return wanted != rangeIN && convert(held, wanted) == held
}
