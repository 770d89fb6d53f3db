import { malformStream } from "../../../test/malformed-replies.ts";
import { createSeededRandom } from "../../../../../test/seeded-random.ts";
import { malformJson } from "../../../test/malformed-requests.ts";
import type { Json } from "../../../test/valid-requests.ts";
import { buildReply, type ScriptedReply } from "../../../test/wire-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

const reply: ScriptedReply = {
  reasoning: ["hm", "m"],
  text: ["Hi ", "there"],
  calls: [
    { id: "call_0", name: "look", arguments: ['{"at":', "1}"] },
    { id: "functions.look:1", name: "look", arguments: ["{}"] },
  ],
  usage: { input: 3, output: 4 },
};
const variants = 25;

/** Creates modes whose replies have a few random changes, the same for the same seed. */
export function generatedModes(seed: number, count: number): UpstreamMode[] {
  return Array.from({ length: count }, (_, number) => ({
    name: `generated replies ${number}`,
    variants,
    async play(upstreamReply) {
      const chance = createSeededRandom(
        seed * 1_000_003 + number * variants + upstreamReply.variant,
      );
      if (!upstreamReply.stream)
        return upstreamReply.json(
          JSON.stringify(malformJson(chance, buildReply(upstreamReply.wire, reply) as Json)),
        );
      return upstreamReply.events([malformStream(chance, upstreamReply.wire, reply)]);
    },
  }));
}
