package graph_test
import ("testing";"os";"encoding/binary";"fmt";"time";"math"; "waymark/graph")
func ri(p string) []int32 { b,err:=os.ReadFile(p); if err!=nil {panic(err)}; o:=make([]int32,len(b)/4); for i:=range o {o[i]=int32(binary.LittleEndian.Uint32(b[4*i:]))}; return o}
func TestTmp(t *testing.T) {
	for _, n := range []int{1000,10000} {
		d := fmt.Sprintf("/tmp/pf/d/%d/",n)
		s,ds,w,c := ri(d+"src.i32"),ri(d+"dst.i32"),ri(d+"w.f32"),ri(d+"comm.i32")
		var es []graph.Edge
		for i := range s { es=append(es,graph.Edge{From:s[i],To:ds[i],Weight:float64(math.Float32frombits(uint32(w[i])))}) }
		t0:=time.Now(); g,err:=graph.New(n,es); if err!=nil {t.Fatal(err)}
		fmt.Println("new",time.Since(t0))
		for range 5 {
		t0=time.Now(); l:=graph.Communities(g,1); el:=time.Since(t0)
		fmt.Println(n, el, graph.Modularity(g,l,1), nmi(l,c))
		t0=time.Now(); r,_:=graph.PageRank(g,graph.PageRankOptions{Tolerance:1e-6}); fmt.Println("pr",time.Since(t0),r.Sweeps)
		}
	}
}
