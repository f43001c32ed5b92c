package main

// fit returns what one unit of each thing costs: the costs, none below zero, whose sums come
// closest to what was measured, each by its share of the measured figure.
func fit(things [][]float64, measured []float64) (unit []float64) {
	unit = make([]float64, len(things[0]))
	rest := make([]float64, len(measured)) // of 1: what the sum still lacks
	for i := range rest {
		rest[i] = 1
	}
	share := func(i, k int) float64 { return things[i][k] / max(measured[i], 1e-12) }
	for range 20_000 { // coordinate descent
		for k := range unit {
			var up, down float64
			for i := range measured {
				up += share(i, k) * rest[i]
				down += share(i, k) * share(i, k)
			}
			if down == 0 {
				continue
			}
			step := max(up/down, -unit[k])
			unit[k] += step
			for i := range rest {
				rest[i] -= step * share(i, k)
			}
		}
	}
	return unit
}

// sum is what things cost.
func sum(unit, things []float64) (all float64) {
	for k := range unit {
		all += unit[k] * things[k]
	}
	return all
}
