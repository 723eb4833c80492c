// Writes the tokenizers in this folder, and texts with the ids that Hugging Face's library gives:
//
//     npm install tokenizers@0.23.2   # Apache 2.0; the Rust library with bindings for Node
//     node generate.js
//
// The vocabularies are learned from the text below. All texts belong to this project (MIT).
const fs = require('fs'), os = require('os'), path = require('path')
const tk = require('tokenizers')

const here = __dirname
const words = `the film is not good and not bad it was a long evening with three people who had
seen better ones before we don't know why they've made another of these and I'll never watch it
again the music however was wonderful and the actors played as if their lives depended on it
training reads the sequences and the tokens of a batch are drawn once for each step in 2024 or
1999 or 12345 rows of text are written into files with labels and names stars 1 2 3 7 10 good
good films have good endings bad films have none unbelievable understanding misunderstood
running runner ran walked walking walks singer singing sings tokenizer tokenizing tokenized
Größe café naïve façade über El Niño São Paulo Привет мир как дела 你好 世界 日本語 テキスト 한국어
#hash @name http://example.com/a?b=c&d=e x = y + z; if (a[i] != 0) { return -1.5e-3; }`.split(/\s+/)

// A fixed text of sentences.
let state = 1
const random = n => (state = (state * 48271) % 2147483647) % n
const corpus = Array.from({ length: 400 }, () => {
  let s = Array.from({ length: 3 + random(12) }, () => words[random(words.length)]).join(random(9) ? ' ' : ', ')
  return s[0].toUpperCase() + s.slice(1) + ['.', '!', '?', '...', ' (yes)'][random(5)]
})
const file = path.join(os.tmpdir(), 'hftokenizer-corpus.txt')
fs.writeFileSync(file, corpus.slice(0, 300).join('\n'))

// learn returns the JSON of a tokenizer with a model and its preprocessing.
function learn(model, normalizer, preTokenizer) {
  const t = new tk.Tokenizer(model)
  if (normalizer) t.setNormalizer(normalizer)
  if (preTokenizer) t.setPreTokenizer(preTokenizer)
  t.train([file])
  const out = path.join(os.tmpdir(), 'hftokenizer.json')
  t.save(out, false)
  return JSON.parse(fs.readFileSync(out))
}
const special = (id, content, more) => ({ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true, ...more })
const byId = vocab => Object.entries(vocab).sort((a, b) => a[1] - b[1]).map(e => e[0])
const numbered = tokens => Object.fromEntries(tokens.map((t, i) => [t, i]))

const cl100k = "(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\\r\\n\\p{L}\\p{N}]?\\p{L}+|\\p{N}{1,3}| ?[^\\s\\p{L}\\p{N}]+[\\r\\n]*|\\s*[\\r\\n]+|\\s+(?!\\S)|\\s+"
const tokenizers = {}

// Like GPT-2: all bytes, and an end-of-text token.
const gpt2 = learn(tk.BPE.empty(), null, tk.byteLevelPreTokenizer(false))
const missing = tk.byteLevelAlphabet().filter(s => !(s in gpt2.model.vocab))
gpt2.model.vocab = numbered([...missing, ...byId(gpt2.model.vocab), '<|endoftext|>'])
gpt2.added_tokens = [special(gpt2.model.vocab['<|endoftext|>'], '<|endoftext|>')]
tokenizers.gpt2 = gpt2

// Like Llama 3 and Qwen: the same tokens, another expression and NFC.
const llama3 = structuredClone(gpt2)
llama3.normalizer = { type: 'NFC' }
llama3.pre_tokenizer = { type: 'Sequence', pretokenizers: [
  { type: 'Split', pattern: { Regex: cl100k }, behavior: 'Isolated', invert: false },
  { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }] }
llama3.model.ignore_merges = true
tokenizers.llama3 = llama3

// Like Llama 2: characters, and bytes for unknown characters.
const llama2 = learn(tk.BPE.empty(), tk.sequenceNormalizer([tk.prependNormalizer('▁'), tk.replace(' ', '▁')]), tk.splitPreTokenizer('▁', 'mergedWithNext'))
llama2.pre_tokenizer = null
const bytes = Array.from({ length: 256 }, (_, b) => '<0x' + b.toString(16).toUpperCase().padStart(2, '0') + '>')
llama2.model.vocab = numbered(['<unk>', '<s>', '</s>', ...bytes, ...byId(llama2.model.vocab)])
Object.assign(llama2.model, { unk_token: '<unk>', fuse_unk: true, byte_fallback: true })
llama2.added_tokens = ['<unk>', '<s>', '</s>'].map((s, i) => special(i, s))
tokenizers.llama2 = llama2

// Like uncased BERT.
const bert = learn(tk.WordPiece.empty(), tk.bertNormalizer({ cleanText: true, handleChineseChars: true, lowercase: true }), tk.bertPreTokenizer())
const marks = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]']
bert.model.vocab = numbered([...marks, ...byId(bert.model.vocab)])
bert.model.unk_token = '[UNK]'
bert.normalizer.strip_accents = null
bert.added_tokens = marks.map((s, i) => special(i, s, { lstrip: s === '[MASK]' }))
bert.post_processor = { type: 'BertProcessing', sep: ['[SEP]', 3], cls: ['[CLS]', 2] }
tokenizers.bert = bert

// Like T5, with NFKC instead of SentencePiece's table.
const t5 = learn(tk.Unigram.empty(), tk.nfkcNormalizer(), tk.metaspacePreTokenizer())
t5.model.vocab = [['<pad>', 0], ['</s>', 0], ['<unk>', 0], ...t5.model.vocab.filter(e => e[0] !== '<unk>')]
t5.model.unk_id = 2
t5.normalizer = { type: 'Sequence', normalizers: [{ type: 'NFKC' }, { type: 'Strip', strip_left: false, strip_right: true },
  { type: 'Replace', pattern: { Regex: ' {2,}' }, content: '▁' }] }
t5.added_tokens = ['<pad>', '</s>', '<unk>'].map((s, i) => special(i, s))
tokenizers.t5 = t5

const odd = ['', ' ', '  ', '\n', '\r\n', 'a\r\nb\r\n\r\nc', '\t\t x\t', '\0', 'a\0b', '  before and behind  ',
  "don't I'M we'Ve they'll he'd 'Sup x'ſ 'RE", '12345 1,234.56 ½ ² ③ ٣٤٥ 一二三', '😀 😃👨‍👩‍👧‍👦🏳️‍🌈 👍🏽 🇩🇪🇫🇷',
  '你好，世界。日本語テキスト 한국어', 'e\u0301 n\u0303 a\u030a\u0323 Å ﬁ ﬀ ① Ｆｕｌｌ', 'café CAFÉ İstanbul ıI ß ẞ ΑΣ ΌΔΟΣ ς',
  'नमस्ते दुनिया', 'สวัสดีชาวโลก', 'שלום עולם مرحبا بالعالم', '\u200b\u200d\ufeff zero\u00a0width\u2003em\u3000ideo',
  '\u0085 next\u2028line\u2029para', '\x1f\x7f\x80\x9f ctl', '\ufffd \ufffe \uffff \u{10ffff}', 'a'.repeat(300), 'ab '.repeat(200),
  ' '.repeat(200) + 'x', '\n'.repeat(60), 'x\n \n  y', '!!!???...---___', 'foo_bar-baz.qux@example.com https://a.b/c?d=e&f=g#h',
  '<|endoftext|>', 'a<|endoftext|>b <|endoftext|> c', '[CLS] good [SEP]  [MASK] [UNK] [PAD]', '<s> </s> <unk> <pad> <0x41>',
  '▁under ▁▁ _', 'ĠĊ byte ġ', '##ing ## #', 'ﷺ ㍿ ㌔ …', '\u00ad soft \u034f', 'a\u0300'.repeat(40), '1 2  3   4    5', '\r\r\n\n\r', '𝒜𝓑𝕮 𐍈 𝟘',
  'OOOoo ..... ****** yadayadayada']
const texts = [...odd, ...corpus.slice(300)]
;(async () => {
  const ids = {}
  for (const [name, json] of Object.entries(tokenizers)) {
    const text = JSON.stringify(json)
    fs.writeFileSync(path.join(here, name + '.json'), text + '\n')
    const t = tk.Tokenizer.fromString(text)
    ids[name] = []
    for (const s of texts) ids[name].push((await t.encode(s, null, { addSpecialTokens: false })).getIds())
  }
  const lines = texts.map((s, i) => JSON.stringify({ text: s, ids: Object.fromEntries(Object.keys(ids).map(n => [n, ids[n][i]])) }))
  fs.writeFileSync(path.join(here, 'ids.jsonl'), lines.join('\n') + '\n')
})()
