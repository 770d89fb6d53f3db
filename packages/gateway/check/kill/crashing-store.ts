import type { Store } from "@deltawire/store";
import type { LogEntry, TaskEvent } from "@deltawire/tasks";

/** A moment around a write: before it; after it but before subscribers are notified; after that. */
export const crashMoments = ["before", "stored", "notified"] as const;
type CrashMoment = (typeof crashMoments)[number];

/** The write at which a server is killed: its number, or the n-th write (from 0) of one kind, such as "a blob". */
export type CrashPoint = { moment: CrashMoment; at: number | { what: string; nth: number } };

/** Wraps a store so that its process is killed at a write. `crash` gets the kind of the write, and does not return. */
export function createCrashingStore(
  store: Store,
  { at, moment }: CrashPoint,
  crash: (what: string) => never,
): Store {
  const writeCounts = new Map<string, number>();
  let writeCount = 0;
  /** Returns the kind of this write if it is the one to crash at. */
  const findCrashPoint = (kinds: readonly string[]): string | undefined => {
    const number = writeCount;
    writeCount += 1;
    if (typeof at === "number") return number === at ? describeWrite(kinds) : undefined;
    const countBefore = writeCounts.get(at.what) ?? 0;
    const countAfter = countBefore + kinds.filter((kind) => kind === at.what).length;
    writeCounts.set(at.what, countAfter);
    return countBefore <= at.nth && at.nth < countAfter ? at.what : undefined;
  };
  return new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== "function") return value;
      const method = value.bind(target) as (...args: unknown[]) => Promise<unknown>;
      const describeEvents = (
        describeWrites as Partial<Record<string | symbol, (args: readonly unknown[]) => string[]>>
      )[name];
      if (describeEvents === undefined) return method;
      return async (...args: unknown[]): Promise<unknown> => {
        const writeKind = findCrashPoint(describeEvents(args));
        if (writeKind !== undefined && moment === "before") crash(writeKind);
        const result = await method(...args);
        if (writeKind !== undefined && moment === "stored") crash(writeKind);
        // The rest of this turn runs first: subscribers are notified, and what they send is on its way.
        if (writeKind !== undefined && moment === "notified") setImmediate(() => crash(writeKind));
        return result;
      };
    },
  });
}

type AppendOptions = Parameters<Store["append"]>[2];

/** Returns the kinds of what each writing method stores. */
const describeWrites = {
  append: ([, entries, options]: readonly unknown[]) => [
    ...(entries as LogEntry[]).map(({ event }) => formatEventName(event)),
    ...((options as AppendOptions).replacements ?? []).map(() => "a denied result"),
  ],
  addGrant: () => ["a grant"],
  put: () => ["a blob"],
  claimIdempotencyKey: () => ["the key of a request"],
  saveSnapshot: () => ["a snapshot"],
} satisfies Partial<Record<keyof Store, (args: readonly unknown[]) => string[]>>;

export function formatEventName(event: TaskEvent): string {
  return event.type === "task.working" && event.recovered === true
    ? "task.working, recovered"
    : event.type;
}

/** The kinds of writes that every run makes equally often, regardless of timing. */
export const writesOfEveryRun: readonly string[] = [
  "the key of a request",
  "a blob",
  "a grant",
  "task.created",
  "task.round.started",
  "task.round.done",
  "task.approval.requested",
  "task.approval.resolved",
  "a denied result",
  "task.input.added",
  "task.tool_execution.started",
  "task.tool_execution.done",
  "task.reference.added",
  "task.completed",
  "a snapshot",
];

/** Kinds of writes, the most specific first: it names a write of several kinds. */
const namedWrites: readonly string[] = [
  "task.working, recovered",
  ...writesOfEveryRun.toReversed(),
  "task.output_item.done",
  "task.output_item.added",
];

function describeWrite(kinds: readonly string[]): string {
  return namedWrites.find((kind) => kinds.includes(kind)) ?? "other events";
}
