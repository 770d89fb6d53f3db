import type { Block, Reference, ToolCallItem } from "@deltawire/tasks";
import { summarizeArguments } from "./summarize-arguments.ts";

/** The sources of a task, by citation number. */
export type Sources = ReadonlyMap<number, Source>;

export interface Source {
  readonly number: number;
  /** Ids of the calls to expand, from the outermost to the one that found the source. */
  readonly path: readonly string[];
  /** The cited blocks of the result. Empty if unknown. */
  readonly blocks: readonly Block[];
  /** Name and arguments of the call that found the source. */
  readonly tool: string;
  readonly arguments: string;
  readonly title: string | undefined;
  readonly url: string | undefined;
  /** The node of the answer that contains the source. Set only for sources of earlier answers. */
  readonly nodeId?: string;
}

/** The part of a call that sources are resolved from. */
interface CitableCall {
  readonly call: ToolCallItem;
  readonly resultId: string | undefined;
  readonly blocks: readonly Block[];
  /** The sub-agent that the call started. */
  readonly child: { readonly timeline: { readonly sources: Sources } } | undefined;
}

export function resolveSources(
  references: readonly Reference[],
  calls: readonly CitableCall[],
): Sources {
  const byResult = new Map(calls.map((call) => [call.resultId, call]));
  const sources = new Map<number, Source>();
  for (const { reference_id: number, item_id, block_indexes, source, title, url } of references) {
    const citableCall = byResult.get(item_id);
    if (citableCall === undefined) continue;
    const { call, blocks, child } = citableCall;
    const labels = { title, url };
    if (source === undefined) {
      const citedBlocks = block_indexes.flatMap((index) => blocks[index] ?? []);
      sources.set(number, { ...createSource(citableCall, number, citedBlocks), ...labels });
      continue;
    }
    // The path of a source that a sub-agent cited continues to the call with which the sub-agent found it.
    const childSource = child?.timeline.sources.get(source.reference_id);
    sources.set(
      number,
      childSource === undefined
        ? { ...createSource(citableCall, number, []), ...labels }
        : {
            ...childSource,
            number,
            path: [call.call_id, ...childSource.path],
            title: title ?? childSource.title,
            url: url ?? childSource.url,
          },
    );
  }
  return sources;
}

function createSource({ call }: CitableCall, number: number, blocks: readonly Block[]): Source {
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

/** Returns the title of a source; without one, the tool and arguments that found it. */
export function formatSourceName({ title = "", tool, arguments: json }: Source): string {
  return title.trim() === "" ? `${tool} ${summarizeArguments(json)}`.trim() : title;
}
