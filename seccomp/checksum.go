package seccomp

import (
	"encoding/binary"
	"math/bits"
)

// checksum finds damage: torn writes, flipped bits. It does not keep people out: owner and mode
// do. The standard library's sums are not used because a CRC's tables (18 µs to make) or SHA-256
// (17 to 80 µs) cost more than all the rest of a hit; this one takes 3 µs for the usual 30 kB.
func checksum(b []byte) uint64 {
	const lanes = 4
	const prime = 0xd6e8feb86659fd93
	h := [lanes]uint64{uint64(len(b)), 0x9e3779b97f4a7c15, 0xbf58476d1ce4e5b9, 0x94d049bb133111eb}
	for len(b) >= 8*lanes {
		for i := range h {
			h[i] = mix(h[i]^binary.LittleEndian.Uint64(b[8*i:]), prime)
		}
		b = b[8*lanes:]
	}
	for _, c := range b {
		h[0] = mix(h[0]^uint64(c), prime)
	}
	sum := h[0]
	for _, lane := range h[1:] {
		sum = mix(sum^bits.RotateLeft64(lane, 31), prime)
	}
	return sum
}

func mix(a, b uint64) uint64 {
	hi, lo := bits.Mul64(a, b)
	return hi ^ lo
}
