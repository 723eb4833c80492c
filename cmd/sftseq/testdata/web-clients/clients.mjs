// Uses published clients of other servers unchanged: clients.mjs URL-OF-A-MODEL-OF-PAIRS URL-OF-ANOTHER-MODEL.
import { createCohere } from '@ai-sdk/cohere';
import { InferenceClient } from '@huggingface/inference';
import { OpenAIEmbeddings } from '@langchain/openai';
import { rerank } from 'ai';
import { CohereClient, CohereClientV2 } from 'cohere-ai';

const [pairs, single] = process.argv.slice(2);
const request = { model: 'retrieval', query: 'one', documents: ['two', 'one'], topN: 1 };
for (const [name, Client] of Object.entries({ CohereClient, CohereClientV2 })) {
  const { results } = await new Client({ token: 'none', environment: pairs }).rerank(request);
  console.log(name, results.length, results[0].index, results[0].relevanceScore.toFixed(4));
}
const vercel = createCohere({ baseURL: `${pairs}/v2`, apiKey: 'none' }).reranking('retrieval');
const { ranking } = await rerank({ model: vercel, query: 'one', documents: ['two', 'one'], topN: 1 });
console.log('rerank', ranking.length, ranking[0].originalIndex, ranking[0].score.toFixed(4));
const langchain = new OpenAIEmbeddings({ model: 'pre', apiKey: 'none', configuration: { baseURL: `${single}/v1` } });
const texts = ['[MAX 2 9 ]', '[MIN 4 7 ]'];
const vectors = await langchain.embedDocuments(texts);
console.log('OpenAIEmbeddings', vectors.length, vectors[0].length, Math.hypot(...vectors[1]).toFixed(4));
const inference = new InferenceClient('none', { endpointUrl: `${single}/embed` });
const features = await inference.featureExtraction({ inputs: texts });
const furthest = Math.max(...features.flat().map((x, i) => Math.abs(x - vectors.flat()[i])));
console.log('InferenceClient', features.length, furthest < 1e-6);
