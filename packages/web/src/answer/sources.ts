import type { Block, Reference, ToolCallItem } from "@deltawire/tasks";
import { argumentsLine } from "./arguments-line.ts";

/** What can be cited in a task, by its number. */
export type Sources = ReadonlyMap<number, Source>;

export interface Source {
  readonly number: number;
  /** The calls to unfold on the way to it, the one that found it last. */
  readonly path: readonly string[];
  readonly blocks: readonly Block[];
  /** The tool that found it. */
  readonly tool: string;
  readonly arguments: string;
  readonly title: string | undefined;
  readonly url: string | undefined;
  /** The answer that it stands in, where that is another one. */
  readonly nodeId?: string;
}

/** What sources need of a call. */
interface CitableCall {
  readonly call: ToolCallItem;
  readonly resultId: string | undefined;
  readonly blocks: readonly Block[];
  /** The sub-agent that it asked. */
  readonly child: { readonly timeline: { readonly sources: Sources } } | undefined;
}

export function sourcesOf(
  references: readonly Reference[],
  calls: readonly CitableCall[],
): Sources {
  const byResult = new Map(calls.map((call) => [call.resultId, call]));
  const sources = new Map<number, Source>();
  for (const { reference_id: number, item_id, block_indexes, source, title, url } of references) {
    const view = byResult.get(item_id);
    if (view === undefined) continue;
    const { call, blocks, child } = view;
    const named = { title, url };
    if (source === undefined) {
      const own = block_indexes.flatMap((index) => blocks[index] ?? []);
      sources.set(number, { ...sourceIn(view, number, own), ...named });
      continue;
    }
    // What a sub-agent cited stands where that found it.
    const found = child?.timeline.sources.get(source.reference_id);
    sources.set(
      number,
      found === undefined
        ? { ...sourceIn(view, number, []), ...named }
        : {
            ...found,
            number,
            path: [call.call_id, ...found.path],
            title: title ?? found.title,
            url: url ?? found.url,
          },
    );
  }
  return sources;
}

function sourceIn({ call }: CitableCall, number: number, blocks: readonly Block[]): Source {
  return {
    number,
    path: [call.call_id],
    blocks,
    tool: call.name,
    arguments: call.arguments,
    title: undefined,
    url: undefined,
  };
}

/** What a source is called: its title, else what it was found by. */
export function sourceName({ title = "", tool, arguments: json }: Source): string {
  return title.trim() === "" ? `${tool} ${argumentsLine(json)}`.trim() : title;
}
