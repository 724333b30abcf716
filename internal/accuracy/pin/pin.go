// Package pin keeps the load generator and the service apart: each on CPUs of
// its own, so that neither's CPU time holds the other's cold caches.
package pin

// Halves divides the CPUs that this process may use: the first half is for the
// service. Both are nil, which pins nothing, if there are fewer than two or the
// system cannot pin.
func Halves() (service, load []int) {
	cpus := allowed()
	if len(cpus) < 2 {
		return nil, nil
	}
	return cpus[:len(cpus)/2], cpus[len(cpus)/2:]
}
