package static

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.WriteFile(path, data, 0o600))
	return path
}

func cosine(t *testing.T, e *Embeddings, a, b string) float64 {
	t.Helper()
	v, err := e.Embed(t.Context(), []string{a, b})
	require.NoError(t, err)
	require.NotNil(t, v[0], a)
	require.NotNil(t, v[1], b)
	sum := 0.0
	for i := range v[0] {
		sum += float64(v[0][i]) * float64(v[1][i])
	}
	return sum
}

const glove = "the 5 5 5\nmaid 6 4 5\ncleaner 6 4.1 5\ninvoice 4 6 5\nMaid 0 0 9\n"

// Plain, with the first line of word2vec, and compressed: the vectors are the same.
func TestLoadText(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	fmt.Fprint(z, glove)
	require.NoError(t, z.Close())
	var first []float32
	for name, data := range map[string][]byte{"a.txt": []byte(glove), "b.vec": []byte("5 3\n" + glove), "c.gz": packed.Bytes()} {
		e, err := Load(write(t, name, data))
		require.NoError(t, err, name)
		require.Equal(t, 4, e.Len(), "capitals do not count, the first line does")
		require.Equal(t, 3, e.Dimension())
		require.Greater(t, cosine(t, e, "the maid", "Cleaner?"), 0.9)
		require.Less(t, cosine(t, e, "maid", "invoice"), 0.0, "what all have in common is taken out")
		require.Equal(t, 2, e.Known([]string{"maid", "ship", "invoice"}))
		v, err := e.Embed(t.Context(), []string{"", "ship", "maid"})
		require.NoError(t, err)
		require.Nil(t, v[0])
		require.Nil(t, v[1])
		if first == nil {
			first = v[2]
		}
		require.Equal(t, first, v[2], name)
	}
}

// Words of a text that a file lacks are looked up by their stems; words of a file may have spaces in them.
func TestLoadTextWords(t *testing.T) {
	e, err := Load(write(t, "v.txt", []byte("refund 1 2\n. . . 3 4\nship 2 1\n")))
	require.NoError(t, err)
	require.Equal(t, 3, e.Len())
	require.Equal(t, []int{0, 2}, e.split.rows("Refunds of shipped things"))
}

func TestModelNamesTheContent(t *testing.T) {
	a, err := Load(write(t, "a.txt", []byte(glove)))
	require.NoError(t, err)
	b, err := Load(write(t, "b.txt", []byte(glove)))
	require.NoError(t, err)
	c, err := Load(write(t, "a.txt", []byte(glove+"ship 1 2 3\n")))
	require.NoError(t, err)
	require.Equal(t, a.Model(), b.Model())
	require.NotEqual(t, a.Model(), c.Model())
	require.Regexp(t, `a\.txt, glove, 5 words of dimension 3, sha256 [0-9a-f]{16}$`, c.String())
}

func TestLoadTextNamesWhatIsWrong(t *testing.T) {
	for text, want := range map[string]string{
		"":                               "no words",
		"a 1\n":                          "line 1: 1 numbers after the word: want 2 to 4096",
		"a 1 2\nb 1\n":                   "line 2: 1 numbers after the word: want 2 as in the lines before",
		"a 1 2\nb 1 x\n":                 `line 2: "x" is not a number`,
		"a 1 2\nb NaN 1\n":               `line 2: "NaN" is not a number`,
		"a 1 " + strings.Repeat("x", 99): `line 1: "` + strings.Repeat("x", 40) + `" is not a number`,
		"a 1 2\nb 1 2 3\n":               "line 2: more than 2 numbers after the word",
		"2 3\na 1 2\n":                   "line 2: 2 numbers after the word: want 3 as in the lines before",
		"2 2\na 1 2\n":                   "line 1 says 2 words, 1 follow",
		"2 9999999\n":                    "line 1: dimension 9999999: want 2 to 4096",
		strings.Repeat("a", 2e5):         "line 1: bufio.Scanner: token too long",
	} {
		path := write(t, "v.txt", []byte(text))
		_, err := Load(path)
		require.EqualError(t, err, "embeddings "+path+": "+want)
	}
	_, err := Load(filepath.Join(t.TempDir(), "none"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// tensors writes a safetensors file.
func tensors(parts ...any) []byte {
	head, data := map[string]any{"__metadata__": map[string]string{"format": "pt"}}, []byte{}
	for i := 0; i < len(parts); i += 4 {
		from := len(data)
		data = append(data, parts[i+3].([]byte)...)
		head[parts[i].(string)] = map[string]any{"dtype": parts[i+1], "shape": parts[i+2], "data_offsets": []int{from, len(data)}}
	}
	h, _ := json.Marshal(head)
	return append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(h))), h...), data...)
}

func floats(x ...float32) (b []byte) {
	for _, y := range x {
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(y))
	}
	return b
}

const wordPieceFile = `{"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true},
	"pre_tokenizer":{"type":"BertPreTokenizer"},
	"model":{"type":"WordPiece","unk_token":"[UNK]","continuing_subword_prefix":"##","max_input_chars_per_word":100,
	"vocab":{"[UNK]":0,"refund":1,"##ed":2,"cafe":3,"!":4,"天":5}}}`

var embeddingRows = floats(9, 9, 3, 4, 0, 2, 4, -3, 5, 0, 0, 7)

// model writes a folder of model2vec.
func model(t *testing.T, tokenizer string, tensors []byte) string {
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), tensors, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "tokenizer.json"), []byte(tokenizer), 0o600))
	return dir
}

// The vectors of the tokens are averaged, as a person works them out.
func TestLoadModel2Vec(t *testing.T) {
	e, err := Load(model(t, wordPieceFile, tensors("embeddings", "F32", []int{6, 2}, embeddingRows)))
	require.NoError(t, err)
	v, err := e.Embed(t.Context(), []string{"Refunded", "CAFÉ!", "天天", "refunds", "refund unknown\x00 cafe"})
	require.NoError(t, err)
	require.InDeltaSlice(t, []float64{3 / math.Sqrt(45), 6 / math.Sqrt(45)}, v[0], 1e-6, "refund + ##ed = (3, 6)")
	require.InDeltaSlice(t, []float64{9 / math.Sqrt(90), -3 / math.Sqrt(90)}, v[1], 1e-6, "cafe + ! = (9, -3)")
	require.InDeltaSlice(t, []float64{0, 1}, v[2], 1e-6)
	require.Nil(t, v[3], "a word that is not taken apart in full is unknown")
	require.InDeltaSlice(t, []float64{7 / math.Sqrt(50), 1 / math.Sqrt(50)}, v[4], 1e-6, "refund + cafe = (7, 1)")
}

// Rows in other types, weights of tokens, and tokens that share rows.
func TestLoadModel2VecTensors(t *testing.T) {
	halves := []byte{0x00, 0x3c, 0x00, 0xc0, 0x00, 0x38, 0x01, 0x00} // 1, -2, .5, 2⁻²⁴
	brain := []byte{0x80, 0x3f, 0x00, 0xc0, 0x00, 0x3f, 0x00, 0x00}  // 1, -2, .5, 0
	ids := []byte{0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
	for name, row := range map[string]struct {
		file []byte
		want []float64 // of "refunded": tokens 1 and 2
	}{
		"half":    {tensors("embeddings", "F16", []int{2, 2}, halves, "mapping", "I32", []int{6}, ids), []float64{1.5 / math.Sqrt(6.25), -2 / math.Sqrt(6.25)}},
		"mapping": {tensors("embeddings", "F32", []int{2, 2}, floats(1, 0, 0, 1), "mapping", "I32", []int{6}, ids), []float64{0.7071, 0.7071}},
		"weights": {tensors("embeddings", "F32", []int{2, 2}, floats(1, 0, 0, 1), "mapping", "I32", []int{6}, ids, "weights", "F32", []int{6}, floats(1, 3, 4, 1, 1, 1)), []float64{0.6, 0.8}},
		"brain":   {tensors("embeddings", "BF16", []int{2, 2}, brain, "mapping", "I32", []int{6}, ids), []float64{1.5 / math.Sqrt(6.25), -2 / math.Sqrt(6.25)}},
		"bytes":   {tensors("embeddings", "I8", []int{2, 2}, []byte{3, 0, 0, 0xfc}, "mapping", "I32", []int{6}, ids), []float64{0.6, -0.8}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := Load(model(t, wordPieceFile, row.file))
			require.NoError(t, err)
			v, err := e.Embed(t.Context(), []string{"refunded"})
			require.NoError(t, err)
			require.InDeltaSlice(t, row.want, v[0], 1e-4)
		})
	}
	require.Equal(t, float32(math.Ldexp(1, -24)), half(1))
	require.True(t, math.IsInf(float64(half(0xfc00)), -1))
}

// SentencePiece: the likeliest way to take a word apart, spaces written as ▁.
func TestLoadUnigram(t *testing.T) {
	const tokenizer = `{"normalizer":{"type":"Sequence","normalizers":[{"type":"Precompiled"},{"type":"Lowercase"}]},
		"pre_tokenizer":{"type":"Metaspace","replacement":"▁","prepend_scheme":"always"},
		"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁re",-3],["fund",-3],["▁refund",-5],["s",-2],["▁",-4]]}}`
	e, err := Load(model(t, tokenizer, tensors("embeddings", "F32", []int{6, 1}, floats(0, 1, 2, 3, 4, 5))))
	require.NoError(t, err)
	for text, want := range map[string][]int{
		"Refunds": {3, 4},    // -7, before ▁re fund s with -8
		"re fund": {1, 5, 2}, // ▁fund is ▁ and fund
		"xs":      {5, 4},    // x is unknown
		"ｒｅｆｕｎｄ":  {3},       // wide letters
	} {
		require.Equal(t, want, e.split.rows(text), text)
	}
}

// Steps of normalizers and pre-tokenizers, in the shapes that files of model2vec have, and what they make of a text.
func TestTokenizerSteps(t *testing.T) {
	for name, row := range map[string]struct {
		normalizer, pieces, text string
		want                     []string
	}{
		"BERT": {`{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":true,"strip_accents":null,"lowercase":true}`, `{"type":"BertPreTokenizer"}`,
			"Crème-brûlée\t$5\u00ad天气テスト\u3000々", []string{"creme", "-", "brulee", "$", "5", "天", "气", "テスト", "々"}},
		"BERT cased": {`{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":false,"strip_accents":null,"lowercase":false}`, `{"type":"BertPreTokenizer"}`,
			"Crème 天气", []string{"Crème", "天气"}},
		"multilingual": {`{"type":"Sequence","normalizers":[{"type":"Precompiled","precompiled_charsmap":"AAAA"},{"type":"Replace","pattern":{"String":"!"},"content":" ! "},
			{"type":"Replace","pattern":{"Regex":"\\s+"},"content":" "},{"type":"Strip","strip_left":true,"strip_right":true},{"type":"Lowercase"}]}`,
			`{"type":"Metaspace","replacement":"▁","prepend_scheme":"always","split":false}`, "Hola  Mundo!", []string{"▁hola▁mundo▁!"}},
		"XLM-R": {`{"type":"Sequence","normalizers":[{"type":"Precompiled"},{"type":"Replace","pattern":{"Regex":" {2,}"},"content":" "}]}`,
			`{"type":"Sequence","pretokenizers":[{"type":"WhitespaceSplit"},{"type":"Metaspace","replacement":"▁","add_prefix_space":true}]}`, "Hola  Mundo", []string{"▁Hola", "▁Mundo"}},
		"no prefix":     {`null`, `{"type":"Metaspace","replacement":"▁","add_prefix_space":false}`, "a b", []string{"a", "▁b"}},
		"marks":         {`{"type":"StripAccents"}`, `null`, "e\u0301\u00e9", []string{"e\u00e9"}},
		"marks of NFKD": {`{"type":"Sequence","normalizers":[{"type":"NFKD"},{"type":"StripAccents"}]}`, `null`, "e\u0301\u00e9ﬁ", []string{"eefi"}},
	} {
		t.Run(name, func(t *testing.T) {
			tok, err := readTokenizer([]byte(`{"normalizer":` + row.normalizer + `,"pre_tokenizer":` + row.pieces + `,"model":{"type":"WordPiece","vocab":{}}}`))
			require.NoError(t, err)
			var got []string
			tok.model = func(word string) []int { got = append(got, word); return nil }
			tok.rows(row.text)
			require.Equal(t, row.want, got)
		})
	}
}

func TestLoadModel2VecNamesWhatIsWrong(t *testing.T) {
	good := tensors("embeddings", "F32", []int{6, 2}, embeddingRows)
	for name, row := range map[string]struct {
		tokenizer string
		file      []byte
		want      string
	}{
		"short":       {wordPieceFile, []byte("abc"), "3 bytes are no safetensors file"},
		"head":        {wordPieceFile, bytes.Repeat([]byte{0xff}, 16), "a head of 18446744073709551615 bytes"},
		"json":        {wordPieceFile, append([]byte{2, 0, 0, 0, 0, 0, 0, 0}, "{]"...), "the head of the safetensors file"},
		"none":        {wordPieceFile, tensors(), `the tensor "embeddings" has the shape []`},
		"type":        {wordPieceFile, tensors("embeddings", "Q4", []int{6, 2}, embeddingRows), `tensor "embeddings": unknown type "Q4"`},
		"place":       {wordPieceFile, tensors("embeddings", "F32", []int{6, 3}, embeddingRows), "does not fit the place"},
		"large":       {wordPieceFile, tensors("embeddings", "F32", []int{1 << 40, 1 << 40}, embeddingRows), "is too large"},
		"infinite":    {wordPieceFile, tensors("embeddings", "F32", []int{1, 1}, floats(float32(math.Inf(1)))), "not finite"},
		"mapping":     {wordPieceFile, tensors("embeddings", "F32", []int{6, 2}, embeddingRows, "mapping", "I32", []int{1}, []byte{9, 0, 0, 0}), `tensor "mapping": token 0 has row 9 of 6`},
		"weights":     {wordPieceFile, tensors("embeddings", "F32", []int{6, 2}, embeddingRows, "weights", "F32", []int{1}, floats(1)), `tensor "weights": 1 numbers for 6 tokens`},
		"tokenizer":   {`{`, good, "tokenizer.json"},
		"model":       {`{"model":{"type":"BPE"}}`, good, `model.type is "BPE": want WordPiece or Unigram`},
		"normal":      {`{"normalizer":{"type":"Magic"},"model":{"type":"WordPiece","vocab":{}}}`, good, `normalizer: unknown type "Magic"`},
		"pieces":      {`{"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"WordPiece","vocab":{}}}`, good, `pre_tokenizer: unknown type "ByteLevel"`},
		"expression":  {`{"normalizer":{"type":"Replace","pattern":{"Regex":"(?=a)"},"content":""},"model":{"type":"WordPiece","vocab":{}}}`, good, `normalizer: the expression "(?=a)" is not understood`},
		"content":     {`{"normalizer":{"type":"Prepend","prepend":"` + strings.Repeat("x", 65) + `"},"model":{"type":"WordPiece","vocab":{}}}`, good, "normalizer: Prepend puts in 65 bytes: want at most 64"},
		"replacement": {`{"pre_tokenizer":{"type":"Metaspace","replacement":"12345"},"model":{"type":"WordPiece","vocab":{}}}`, good, "pre_tokenizer: Metaspace has a replacement of 5 bytes: want one character"},
		"tokens":      {wordPieceFile, tensors("embeddings", "F32", []int{3, 2}, embeddingRows[:24]), "model.vocab has 6 tokens, the embeddings 3"},
		"vocab":       {`{"model":{"type":"Unigram","vocab":[["a"]]}}`, good, "model.vocab[0]: want a piece and its score"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Load(model(t, row.tokenizer, row.file))
			require.ErrorContains(t, err, row.want)
		})
	}
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "model.safetensors"), good, 0o600))
	_, err := Load(dir)
	require.ErrorContains(t, err, "there is no tokenizer.json beside it")
	require.NoError(t, os.Mkdir(filepath.Join(dir, "tokenizer.json"), 0o700))
	_, err = Load(dir)
	require.ErrorContains(t, err, "tokenizer.json has ")
}

func FuzzText(f *testing.F) {
	f.Add([]byte(glove))
	f.Add([]byte("1 3\na 1 2 3\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, err := readText(bytes.NewReader(data)); err == nil {
			e.sum = strings.Repeat("0", 64)
			check(t, e)
		}
	})
}

func FuzzSafetensors(f *testing.F) {
	f.Add(tensors("embeddings", "F32", []int{6, 2}, embeddingRows))
	f.Add(tensors("embeddings", "I8", []int{1, 1}, []byte{1}, "mapping", "I32", []int{1}, make([]byte, 4), "weights", "F32", []int{1}, floats(1)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if e, mapping, err := readSafetensors(data); err == nil {
			for _, r := range mapping {
				require.Less(t, r, e.Len())
			}
			require.Equal(t, len(e.rows), e.Len()*e.dimension)
		}
	})
}

func FuzzTokenizer(f *testing.F) {
	f.Add([]byte(wordPieceFile), "Refunded café!")
	f.Add([]byte(`{"pre_tokenizer":{"type":"Metaspace"},"model":{"type":"Unigram","unk_id":0,"vocab":[["<unk>",0],["▁a",-1]]}}`), "a b")
	f.Fuzz(func(t *testing.T, file []byte, text string) {
		tok, err := readTokenizer(file)
		if err != nil || len(text) > 1000 {
			return
		}
		for _, r := range tok.rows(text) {
			require.Less(t, r, tok.size)
			require.GreaterOrEqual(t, r, 0)
		}
	})
}

func check(t *testing.T, e *Embeddings) {
	v, err := e.Embed(t.Context(), []string{"a b the"})
	require.NoError(t, err)
	for _, x := range v[0] {
		require.False(t, math.IsNaN(float64(x)))
	}
}
