import { oddStream } from "../../../test/odd-replies.ts";
import { chanceFrom } from "../../../../../test/seeded-random.ts";
import { oddJson } from "../../../test/odd-requests.ts";
import type { Json } from "../../../test/right-requests.ts";
import { wholeReply, type Reply } from "../../../test/wire-replies.ts";
import type { UpstreamMode } from "./hostile-upstream.ts";

const reply: Reply = {
  reasoning: ["hm", "m"],
  text: ["Hi ", "there"],
  calls: [
    { id: "call_0", name: "look", arguments: ['{"at":', "1}"] },
    { id: "functions.look:1", name: "look", arguments: ["{}"] },
  ],
  usage: { input: 3, output: 4 },
};
const variants = 25;

/** Replies with a few things changed at random, the same for the same seed. */
export function generatedModes(seed: number, count: number): UpstreamMode[] {
  return Array.from({ length: count }, (_, number) => ({
    name: `generated replies ${number}`,
    variants,
    async play(to) {
      const chance = chanceFrom(seed * 1_000_003 + number * variants + to.variant);
      if (!to.stream)
        return to.json(JSON.stringify(oddJson(chance, wholeReply(to.wire, reply) as Json)));
      return to.events([oddStream(chance, to.wire, reply)]);
    },
  }));
}
