import type { Store } from "@deltawire/store";
import type { LogEntry, TaskEvent } from "@deltawire/tasks";

/** A moment around a write: before it; when it is kept and nobody has heard of it; when all have heard of it. */
export const moments = ["before", "kept", "told"] as const;
type Moment = (typeof moments)[number];

/** The write at which a server ends: by its number, or by what is written in it for the so-manieth time, from 0. */
export type Death = { moment: Moment; at: number | { what: string; nth: number } };

/** A store whose process ends at a write, whatever keeps it. `die` is told what was written, and does not return. */
export function mortalStore(
  store: Store,
  { at, moment }: Death,
  die: (what: string) => never,
): Store {
  const seen = new Map<string, number>();
  let writes = 0;
  /** Where to die, if this is the write. */
  const placeOf = (all: readonly string[]): string | undefined => {
    const number = writes;
    writes += 1;
    if (typeof at === "number") return number === at ? nameOf(all) : undefined;
    const before = seen.get(at.what) ?? 0;
    const after = before + all.filter((one) => one === at.what).length;
    seen.set(at.what, after);
    return before <= at.nth && at.nth < after ? at.what : undefined;
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const own = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      const contentOf = written[String(name)];
      if (contentOf === undefined) return own;
      return async (...args: unknown[]): Promise<unknown> => {
        const place = placeOf(contentOf(args));
        if (place !== undefined && moment === "before") die(place);
        const result = await own(...args);
        if (place !== undefined && moment === "kept") die(place);
        // What follows in this turn is done before: those who listen are told, and what they send is on its way.
        if (place !== undefined && moment === "told") setImmediate(() => die(place));
        return result;
      };
    },
  });
}

type AppendOptions = Parameters<Store["append"]>[2];

/** What a call writes, by method. */
const written: Record<string, (args: readonly unknown[]) => string[]> = {
  append: ([, entries, options]) => [
    ...(entries as LogEntry[]).map(({ event }) => eventName(event)),
    ...((options as AppendOptions).replaced ?? []).map(() => "a refused result"),
  ],
  addGrant: () => ["a grant"],
  put: () => ["a blob"],
  keyed: () => ["the key of a request"],
  saveSnapshot: () => ["a snapshot"],
};

export function eventName(event: TaskEvent): string {
  return event.type === "task.working" && event.recovered === true
    ? "task.working, recovered"
    : event.type;
}

/** What a run writes as often as any other, whatever happens at the same time. */
export const certain: readonly string[] = [
  "the key of a request",
  "a blob",
  "a grant",
  "task.created",
  "task.round.started",
  "task.round.done",
  "task.approval.requested",
  "task.approval.resolved",
  "a refused result",
  "task.input.added",
  "task.tool_execution.started",
  "task.tool_execution.done",
  "task.reference.added",
  "task.completed",
  "a snapshot",
];

/** Those of a write that has several things in it, the most telling first. */
const telling: readonly string[] = [
  "task.working, recovered",
  ...certain.toReversed(),
  "task.output_item.done",
  "task.output_item.added",
];

function nameOf(all: readonly string[]): string {
  return telling.find((one) => all.includes(one)) ?? "other events";
}
