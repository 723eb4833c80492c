// Requests embeddings from `sftseq serve --http` with OpenAI's client.
//
//   make build
//   (cd examples/node && npm ci)
//   ./sftseq serve --model runs/listops --http 127.0.0.1:8080 &
//   node examples/node/openai.mjs http://127.0.0.1:8080/v1
//
// If the server runs with --http-token FILE, the second argument is a token from this file.
import OpenAI from 'openai';

const [baseURL, apiKey = 'none'] = process.argv.slice(2);
if (!baseURL) {
  console.error('usage: openai.mjs http://127.0.0.1:8080/v1 [TOKEN]');
  process.exit(2);
}
const client = new OpenAI({ baseURL, apiKey });

const { data: [{ id: model }] } = await client.models.list();
console.log('model:', model, (await client.models.retrieve(model)).owned_by);

// By default the client requests base64 and decodes it.
const input = ['[MAX 2 9 ]', '[SM 5 [MED 1 2 3 ] 8 ]'];
const { data, usage } = await client.embeddings.create({ model, input });
for (const { index, embedding } of data) console.log(`embedding ${index}:`, JSON.stringify(embedding));
console.log('tokens:', usage.total_tokens);

const same = (a, b) => a.length === b.length && a.every((x, i) => Math.fround(x) === Math.fround(b[i]));
const float = await client.embeddings.create({ model, input, encoding_format: 'float' });
console.log('as float:', float.data.every(({ embedding }, i) => same(embedding, data[i].embedding)) ? 'the same' : 'different');

const tokens = await client.embeddings.create({ model, input: [[1, 2, 3], [4]] });
console.log('token lists:', tokens.data.map(({ embedding }) => embedding.length).join(' '));

// Concurrent requests.
const concurrent = await Promise.all(Array.from({ length: 64 }, () => client.embeddings.create({ model, input: input[0] })));
console.log('concurrent:', concurrent.filter((r) => same(r.data[0].embedding, data[0].embedding)).length);

for (const request of [{ model: 'other', input }, { model, input: ['1', ''] }]) {
  await client.embeddings.create(request).then(
    () => console.log('expected an error'),
    (e) => console.log(`${e.constructor.name}: ${e.status} ${e.type} ${e.param} ${e.code}: ${e.error.message}`));
}
