import { isObject, parseJson, type JsonObject } from "../json.ts";
import type { RepairCode, Repairs } from "../repairs.ts";
import { ReplyBudget } from "../reply-budget.ts";
import type { ChatToolCallDelta } from "../shapes/chat-reply.ts";
import { ArgumentsBuffer, canonical } from "./arguments.ts";
import { hasUnknownFields, joinedName, readFragment, unknownFieldsOf } from "./fragment.ts";

export interface AssembledCall {
  /** 0, 1, 2 … in the order in which the calls opened. */
  readonly index: number;
  /** The provider's id, or ours where that is missing, too short or was used before. */
  readonly id: string;
  readonly name: string;
  /** `custom` only where the upstream itself speaks of custom tools: then the arguments are plain text. */
  readonly kind: "function" | "custom";
}

/** A call may be executed only at `closed` with `whole`, and that comes once. */
export type CallEvent =
  | { type: "call.opened"; call: AssembledCall }
  | { type: "call.arguments"; call: AssembledCall; delta: string }
  /** Fields of a fragment that we do not know: of the call, and of its `function` or `custom`. */
  | { type: "call.fields"; call: AssembledCall; fields: JsonObject; described: JsonObject }
  | {
      type: "call.closed";
      call: AssembledCall;
      arguments: string;
      whole: boolean;
      /** The provider's words, where `arguments` are only their first value or stand for none. */
      received: string;
      /** The reply was cut off, or failed: whatever has come of the call is not all of it. */
      cut: boolean;
      /** The upstream said that the reply was finished. Plain text has nothing else to show that it is whole. */
      finished: boolean;
      /** Another tool was named for the call too: then it must not run, whatever its arguments are. */
      doubted: boolean;
    };

/** Where events go: an array of them, or of anything that they are part of. */
interface CallSink {
  push(event: CallEvent): unknown;
}

export interface AssemblerOptions {
  choice: number;
  repairs: Repairs;
  /** A new id, for a call that has none we could use. */
  newCallId: () => string;
  /** The names the upstream was offered; a name that comes in pieces is joined only towards one of them. */
  toolNames: ReadonlySet<string>;
  /** Ids that stand in the history already (decision 20). */
  usedCallIds: ReadonlySet<string>;
  /** Shared by everything that reads the same reply. Default: one of its own. */
  budget?: ReplyBudget;
}

/** Ids such as "0" (TGI, Kimi on Novita) come again in every turn. */
const shortestUsableId = 6;

/**
 * Assembles the streamed tool calls of one choice, each exactly once (decisions 2 to 6). Fragments may name their call by
 * id, by index, by both, by a wrong index or not at all.
 */
export class ToolCallAssembler {
  readonly #options: AssemblerOptions;
  readonly #budget: ReplyBudget;
  readonly #slots: Slot[] = [];
  /** The slots whose call has not opened yet, in their order. */
  readonly #unopened = new Set<Slot>();
  /** False if a pass over all unopened slots would open none of them. */
  #mayOpen = false;
  #hasNames = false;
  readonly #byId = new Map<string, Slot>();
  readonly #byIndex = new Map<number, Slot>();
  readonly #ids = new Set<string>();
  #extras = new Map<string, JsonObject>();
  #openedCount = 0;

  constructor(options: AssemblerOptions) {
    this.#options = options;
    this.#budget = options.budget ?? new ReplyBudget();
  }

  get hasCalls(): boolean {
    return this.#hasNames;
  }

  /** `extra_content` by call id, of the calls that have opened; as far as `dropExtras` has not removed it. */
  get extras(): ReadonlyMap<string, JsonObject> {
    return this.#extras;
  }

  dropExtras(): void {
    this.#extras = new Map();
  }

  push(fragment: ChatToolCallDelta, out: CallSink): void {
    const read = readFragment(fragment, this.#options.toolNames);
    const { id, name, index, kind, arguments: text, wasObject, extra } = read;
    if (wasObject) this.#repair("arguments_object", text);
    const slot = this.#slotFor(id, name, index, text);
    if (slot.kind === "unknown" && kind !== "unknown") slot.kind = kind;
    if (id !== undefined) this.#learnId(slot, id);
    if (name !== undefined) this.#learnName(slot, name);
    if (extra !== undefined) this.#learnExtra(slot, extra);
    this.#learnFields(slot, fragment, out);
    if (text === "") return;
    const delta = this.#append(slot, text, wasObject);
    this.#budget.addText(slot.takeGrowth());
    // Before the name is known there is nothing to open; `pending` then collects what could have been sent.
    if (slot.call === undefined && slot.name !== undefined && slot.way === this.#slots[0]?.way)
      this.openNamed(out, slot);
    if (delta === "") return;
    if (slot.call === undefined) slot.pending += delta;
    else out.push({ type: "call.arguments", call: slot.call, delta });
  }

  /** Whoever sent the call at this index says that it is not all: then it must not run. */
  doubt(index: number): void {
    const slot = this.#byIndex.get(index);
    if (slot === undefined) return;
    slot.doubted = true;
    slot.end = "cut";
    if (slot.isEnded) this.#repair("arguments_not_whole", slot.arguments.received);
  }

  /** Marks the call at this index as ended by the upstream, complete or not. */
  stateEnd(index: number): void {
    const slot = this.#byIndex.get(index);
    if (slot !== undefined) slot.end = "stated";
  }

  /**
   * True if a call is incomplete and its end was not stated. `finished` as for `close`; `takesText` is true for a function
   * that stands for a custom tool. To be asked once, before `close`.
   */
  hasHalfCall(finished: boolean, takesText: (name: string) => boolean): boolean {
    const halves = this.#slots.filter((slot) => isHalf(slot, finished, takesText));
    for (const slot of halves)
      if (slot.kind !== "custom" && !slot.isEnded)
        this.#repair("arguments_not_whole", slot.arguments.received);
    return halves.length > 0;
  }

  /** A call that stood in the text, from beginning to end. */
  pushLeaked(leaked: { id: string | undefined; name: string; arguments: string }, out: CallSink) {
    const slot = this.#newSlot(undefined);
    slot.way = "text";
    slot.kind = "function";
    this.#setName(slot, leaked.name);
    slot.providerId = leaked.id;
    slot.pending = slot.arguments.push(leaked.arguments);
    this.openNamed(out);
  }

  /**
   * Opens, in the order of their arrival, the calls whose name is known: up to `last`, or all. A server that lets a call
   * through as text may send it as a call too (mistral.rs does), so the second way of the two waits until it can be
   * compared.
   */
  openNamed(out: CallSink, last?: Slot): void {
    if (!this.#mayOpen && last === undefined) return;
    const way = this.#slots[0]?.way;
    for (const slot of this.#unopened) {
      const { name } = slot;
      // Half a name may still get its other half, until its own arguments begin.
      const opens = name !== undefined && (slot === last || !slot.nameMayGrow);
      if (opens && slot.way === way) this.#open(slot, name, out);
      if (slot === last) return;
    }
    this.#mayOpen = false;
  }

  /**
   * The end of the choice. `cut` when it was no regular one: then no call is whole. `finished` when the upstream said
   * so, and did not merely stop.
   */
  close({ cut, finished }: { cut: boolean; finished: boolean }, out: CallSink): void {
    // Before anything closes: past its limit the reply fails, and then no call may run.
    if (!cut)
      for (const slot of this.#slots)
        slot.isTooDeep = this.#budget.addArguments(slot.arguments.received) === "depth";
    this.#openRest(out);
    for (const slot of this.#slots) {
      if (slot.isEcho) continue;
      if (slot.call === undefined) {
        this.#repair("call_without_name", slot.arguments.cut().text);
        continue;
      }
      this.#flushObject(slot, slot.call, out);
      if (cut) this.#closeCut(slot, slot.call, out);
      else if (slot.kind === "custom") {
        const { doubted } = slot;
        const whole = finished && !doubted;
        out.push(closed(slot.call, slot.input, { whole, finished, doubted }));
      } else this.#closeWhole(slot, slot.call, finished, out);
    }
    this.#slots.length = 0;
    this.#unopened.clear();
    this.#hasNames = false;
    this.#byId.clear();
    this.#byIndex.clear();
  }

  /** What has not opened yet: half a name that nothing followed, and calls that came the second way. */
  #openRest(out: CallSink): void {
    const way = this.#slots[0]?.way;
    let firstWay: Set<string> | undefined;
    for (const slot of this.#unopened) {
      if (slot.name === undefined) continue;
      if (slot.way !== way) {
        firstWay ??= new Set(
          this.#slots.flatMap((other) => (other.way === way ? [comparable(other)] : [])),
        );
        slot.isEcho = firstWay.has(comparable(slot));
      }
      if (slot.isEcho) this.#repair("call_repeated", slot.name);
      else this.#open(slot, slot.name, out);
    }
  }

  #closeCut(slot: Slot, call: AssembledCall, out: CallSink): void {
    const { unsent, text } = slot.arguments.cut();
    if (unsent !== "") out.push({ type: "call.arguments", call, delta: unsent });
    const final = slot.kind === "custom" ? slot.input : text;
    out.push(closed(call, final, { whole: false, cut: true }));
  }

  #closeWhole(slot: Slot, call: AssembledCall, finished: boolean, out: CallSink): void {
    if (slot.isTooDeep) {
      const { unsent, text } = slot.arguments.cut();
      if (unsent !== "") out.push({ type: "call.arguments", call, delta: unsent });
      this.#repair("arguments_not_whole", text);
      const { doubted } = slot;
      out.push(closed(call, text, { whole: false, finished, doubted }));
      return;
    }
    const { unsent, calls } = slot.arguments.close();
    if (unsent !== "") out.push({ type: "call.arguments", call, delta: unsent });
    calls.forEach(({ text, whole }, nth) => {
      let current = call;
      if (nth > 0) {
        this.#budget.addCall();
        current = this.#newCall(undefined, call.name, call.kind);
        out.push({ type: "call.opened", call: current });
        out.push({ type: "call.arguments", call: current, delta: text });
      }
      if (!whole) this.#repair("arguments_not_whole", text);
      const received = nth === 0 ? slot.arguments.received : text;
      const { doubted } = slot;
      out.push(closed(current, text, { whole: whole && !doubted, received, finished, doubted }));
    });
  }

  /** Decision 4, in its order. */
  #slotFor(
    id: string | undefined,
    name: string | undefined,
    index: number | undefined,
    text: string,
  ): Slot {
    const held = index === undefined ? undefined : this.#byIndex.get(index);
    const known = id === undefined ? undefined : this.#byId.get(id);
    if (known !== undefined) {
      // Some servers give all their calls one id ("0", "functions"): then the index tells them apart.
      if (held !== undefined && held !== known && held.providerId === id) return held;
      return this.#isAnother(known, name, index !== undefined && held === undefined)
        ? this.#newSlot(index)
        : known;
    }

    if (held !== undefined) {
      if (id !== undefined && held.providerId !== undefined) {
        // A server that makes up a new id for every fragment names the call in the first one only.
        if (name !== undefined || held.isEnded) return this.#newSlot(index);
        this.#repair("call_id_changed", id);
        return held;
      }
      return startsAnother(held, name, text) ? this.#newSlot(index) : held;
    }

    const last = this.#slots.at(-1);
    if (last !== undefined && id === undefined) {
      if (name === undefined) {
        if (index !== undefined) this.#repair("call_index_ignored", String(index));
        return last;
      }
      const goesOn = index === undefined && name === last.name && !last.isEnded;
      if (goesOn && last.providerId === undefined) return last;
    }
    return this.#newSlot(index);
  }

  /** A known id with the name of another tool: another call, once the first is whole or if it stands elsewhere. */
  #isAnother(known: Slot, name: string | undefined, elsewhere: boolean): boolean {
    if (name === undefined || known.name === undefined) return false;
    // "0" at another index, named once more, is the next call of the same tool; a real id would be the same call.
    if (name === known.name) return elsewhere && isShort(known.providerId);
    if (known.isEnded) return true;
    return elsewhere && joinedName(known.name, name, this.#options.toolNames) === known.name;
  }

  #newSlot(index: number | undefined): Slot {
    this.#budget.addCall();
    const slot = new Slot((code, words) => this.#repair(code, words || (slot.name ?? "")));
    this.#slots.push(slot);
    this.#unopened.add(slot);
    if (index !== undefined) this.#byIndex.set(index, slot);
    return slot;
  }

  #learnId(slot: Slot, id: string): void {
    if (slot.providerId === undefined) {
      slot.providerId = id;
      if (slot.call !== undefined) this.#repair("call_id_changed", id);
    }
    this.#byId.set(id, slot);
  }

  #learnExtra(slot: Slot, extra: JsonObject): void {
    slot.extra = extra;
    this.#budget.addValue(extra);
    if (slot.call !== undefined) this.#extras.set(slot.call.id, extra);
  }

  #learnName(slot: Slot, name: string): void {
    if (slot.name === undefined) this.#setName(slot, name);
    if (slot.name === undefined || slot.name === name) return;
    const joined = joinedName(slot.name, name, this.#options.toolNames);
    if (slot.call === undefined && joined !== slot.name) {
      this.#setName(slot, joined);
      this.#repair("call_name_joined", joined);
      return;
    }
    this.#repair("call_name_ignored", name);
    // Which of two tools was meant cannot be known, and the wrong one must not run.
    if (this.#options.toolNames.has(name)) slot.doubted = true;
  }

  /** Fields that we do not know go out with the call, once it has opened. */
  #learnFields(slot: Slot, fragment: ChatToolCallDelta, out: CallSink): void {
    if (!hasUnknownFields(fragment)) return;
    const { ofCall, ofFunction } = unknownFieldsOf(fragment);
    this.#budget.addValue(ofCall);
    this.#budget.addValue(ofFunction);
    Object.assign(slot.fields, ofCall);
    Object.assign(slot.described, ofFunction);
    if (slot.call !== undefined) this.#putFields(slot, slot.call, out);
  }

  #putFields(slot: Slot, call: AssembledCall, out: CallSink): void {
    if (isEmpty(slot.fields) && isEmpty(slot.described)) return;
    out.push({ type: "call.fields", call, fields: slot.fields, described: slot.described });
    slot.fields = {};
    slot.described = {};
  }

  #append(slot: Slot, text: string, asObject: boolean): string {
    if (slot.kind === "custom") return slot.appendInput(text);
    if (!asObject) {
      const held = slot.object ?? "";
      slot.object = undefined;
      return slot.arguments.push(held) + slot.arguments.push(text);
    }
    // Whole objects may be snapshots of a growing one, so the last is held back until the end.
    const earlier = slot.object;
    slot.object = text;
    if (earlier === undefined || contains(text, earlier)) return "";
    return slot.arguments.push(earlier);
  }

  #flushObject(slot: Slot, call: AssembledCall, out: CallSink): void {
    if (slot.object === undefined) return;
    const delta = slot.arguments.push(slot.object);
    slot.object = undefined;
    if (delta !== "") out.push({ type: "call.arguments", call, delta });
  }

  #setName(slot: Slot, name: string): void {
    this.#budget.addText(name.length);
    slot.name = name;
    slot.nameMayGrow = this.#mayGrow(name);
    this.#hasNames = true;
    this.#mayOpen = true;
  }

  /** Whether a name that is none yet may become one. */
  #mayGrow(present: string): boolean {
    const { toolNames } = this.#options;
    if (toolNames.has(present)) return false;
    for (const name of toolNames) if (name.startsWith(present)) return true;
    return false;
  }

  #open(slot: Slot, name: string, out: CallSink): void {
    const call = this.#newCall(
      slot.providerId,
      name,
      slot.kind === "custom" ? "custom" : "function",
    );
    slot.call = call;
    this.#unopened.delete(slot);
    if (slot.extra !== undefined) this.#extras.set(call.id, slot.extra);
    out.push({ type: "call.opened", call });
    this.#putFields(slot, call, out);
    if (slot.pending !== "") out.push({ type: "call.arguments", call, delta: slot.pending });
    slot.pending = "";
  }

  #newCall(
    providerId: string | undefined,
    name: string,
    kind: "function" | "custom",
  ): AssembledCall {
    const call = { index: this.#openedCount, id: this.#usableId(providerId), name, kind };
    this.#openedCount += 1;
    return call;
  }

  #usableId(providerId: string | undefined): string {
    const usable =
      providerId !== undefined &&
      !isShort(providerId) &&
      !this.#ids.has(providerId) &&
      !this.#options.usedCallIds.has(providerId);
    if (!usable) this.#repair("call_id_minted", providerId ?? "");
    const id = usable ? providerId : this.#options.newCallId();
    this.#ids.add(id);
    return id;
  }

  #repair(code: RepairCode, detail: string): void {
    this.#options.repairs.add(code, detail, this.#options.choice);
  }
}

/** A call in the making. It has no `call` before it opened, that is before its name can be trusted. */
class Slot {
  providerId: string | undefined;
  name: string | undefined;
  /** Half of an offered name, as far as is known. */
  nameMayGrow = false;
  kind: "function" | "custom" | "unknown" = "unknown";
  call: AssembledCall | undefined;
  extra: JsonObject | undefined;
  fields: JsonObject = {};
  described: JsonObject = {};
  /** Arguments that came as an object and may yet be replaced by a larger one. */
  object: string | undefined;
  /** Another tool was named for this call: then it must not run. */
  doubted = false;
  /** How the upstream itself ended this call: not at all, with an end, or as incomplete. */
  end: "unstated" | "stated" | "cut" = "unstated";
  /** Whether it came as a call, or was found in the text. */
  way: "call" | "text" = "call";
  /** Its arguments are nested too deeply to be used. */
  isTooDeep = false;
  /** It came the other way too, and was opened there. */
  isEcho = false;
  /** What can be sent once the call has opened. */
  pending = "";
  /** The plain text of a custom call. */
  input = "";
  readonly arguments: ArgumentsBuffer;
  #counted = 0;

  constructor(repaired: (code: RepairCode, words: string) => void) {
    this.arguments = new ArgumentsBuffer(repaired);
  }

  /** Whether the arguments have come to an end, so that a name means another call. */
  get isEnded(): boolean {
    return this.arguments.isEnded || this.object !== undefined;
  }

  appendInput(text: string): string {
    this.input += text;
    return text;
  }

  /** How many characters it has more than when this was last asked. */
  takeGrowth(): number {
    const length = this.input.length + this.arguments.length + (this.object?.length ?? 0);
    const growth = Math.max(0, length - this.#counted);
    this.#counted += growth;
    return growth;
  }
}

function isHalf(slot: Slot, finished: boolean, takesText: (name: string) => boolean): boolean {
  if (slot.name === undefined || slot.end === "stated") return false;
  if (slot.end === "cut") return true;
  if (slot.kind === "custom") return !finished;
  if (slot.object !== undefined) return false;
  if (slot.arguments.peek().every(({ whole }) => whole)) return false;
  return !(takesText(slot.name) && isPlainInput(slot.arguments.received, finished));
}

function isShort(id: string | undefined): boolean {
  return id !== undefined && id.length < shortestUsableId;
}

/**
 * A name at a call whose arguments have ended is another call. The same name with nothing behind it, or with the same
 * arguments once more, is an echo: as a call of its own it would run the tool twice.
 */
function startsAnother(slot: Slot, name: string | undefined, text: string): boolean {
  if (name === undefined || !slot.isEnded) return false;
  if (name !== slot.name) return true;
  return text.trim() !== "" && text !== slot.arguments.received && text !== slot.object;
}

/** What a call says, however it is written: for finding one that came as text and as a call. */
function comparable(slot: Slot): string {
  const text = canonical((slot.object ?? slot.arguments.received).trim() || "{}");
  return `${slot.name ?? ""} ${text}`;
}

interface Closing {
  whole: boolean;
  received?: string;
  cut?: boolean;
  finished?: boolean;
  doubted?: boolean;
}

function closed(call: AssembledCall, text: string, closing: Closing): CallEvent {
  const { whole, received = text, cut = false, finished = false, doubted = false } = closing;
  return { type: "call.closed", call, arguments: text, whole, received, cut, finished, doubted };
}

/** Whether one JSON object has all the keys of another. */
function contains(text: string, earlier: string): boolean {
  const [larger, smaller] = [parseJson(text), parseJson(earlier)];
  if (!isObject(larger) || !isObject(smaller)) return false;
  return Object.keys(smaller).every((key) => Object.hasOwn(larger, key));
}

function isEmpty(fields: object): boolean {
  return Object.keys(fields).length === 0;
}

/** True if a custom tool's input was sent as plain text: only a finish shows that such a text is complete. */
export function isPlainInput(received: string, finished: boolean): boolean {
  return finished && !received.trimStart().startsWith("{");
}
