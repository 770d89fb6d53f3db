import { chanceFrom, oddJson } from "../../../test/odd-requests.ts";
import type { Json } from "../../../test/right-requests.ts";
import { streamed, wholeReply, type Reply } from "../../../test/wire-replies.ts";
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
      const pieces = streamed(to.wire, reply).flatMap((block) => changedBlock(chance, block));
      const text = pieces.join("");
      const length = chance() < 0.1 ? Math.floor(chance() * text.length) : text.length;
      return to.events([text.slice(0, length)]);
    },
  }));
}

function changedBlock(chance: () => number, block: string): string[] {
  const kind = chance();
  if (kind < 0.04) return [];
  if (kind < 0.07) return [block, block];
  if (kind < 0.09) return [block.slice(0, Math.floor(chance() * block.length))];
  if (kind > 0.35) return [block];
  const [, data = "null"] = /^data: (.*)$/m.exec(block) ?? [];
  if (data === "[DONE]") return [block];
  return [block.replace(data, () => JSON.stringify(oddJson(chance, JSON.parse(data) as Json)))];
}
