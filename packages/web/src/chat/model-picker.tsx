import { useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { ModelChoice } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Icon, type IconName } from "../parts/icon.tsx";
import { placeBeside, usePopoverBeside } from "../parts/place-beside.ts";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import {
  choicesFound,
  writtenChoice,
  type Choice,
  type ChoiceGroup,
  type Who,
} from "./who-answers.tsx";

interface ModelPickerProps {
  /** What is chosen by it, for those who cannot see where it stands. */
  label: string;
  /** What the button says. */
  shown: string;
  icon?: IconName | undefined;
  choices: readonly Choice[];
  chosen: Who;
  /** What somebody should know who chooses now. */
  note?: string | undefined;
  onChoose: (who: Who) => void;
  className?: string | undefined;
  disabled?: boolean | undefined;
  id?: string | undefined;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
}

/** A button that says who answers, and a list to search for somebody else. */
export function ModelPicker(props: ModelPickerProps) {
  const { label, shown, icon, choices, chosen, note, onChoose, className, disabled, ...field } =
    props;
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (focusGoesBack: boolean) => {
    setOpen(false);
    if (focusGoesBack) button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className ?? "button chat-picker"}
        data-kind="ghost"
        title={note === undefined ? label : `${label}. ${note}`}
        aria-label={`${label}: ${shown}`}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        disabled={disabled}
        onClick={() => setOpen(!isOpen)}
        {...field}
      >
        {icon !== undefined && <Icon name={icon} small />}
        <span className="chat-picker-name">{shown}</span>
        <Icon name="down" small />
      </button>
      {isOpen && (
        <OpenPicker
          label={label}
          choices={choices}
          chosen={chosen}
          note={note}
          button={button}
          onClose={close}
          onChoose={(who) => {
            close(true);
            onChoose(who);
          }}
        />
      )}
    </>
  );
}

interface OpenPickerProps {
  label: string;
  choices: readonly Choice[];
  chosen: Who;
  note: string | undefined;
  button: { readonly current: HTMLButtonElement | null };
  onClose: (focusGoesBack: boolean) => void;
  onChoose: (who: Who) => void;
}

/** Gateways of many providers offer hundreds: whoever looks for one of those searches. */
const most = 100;

function OpenPicker(props: OpenPickerProps) {
  const { label, choices, chosen, note, button, onClose, onChoose } = props;
  const words = useWords(composerWords);
  const id = useId();
  const popover = useRef<HTMLDivElement>(null);
  const [query, setQuery] = useState("");
  const found = useMemo(() => choicesFound(choices, query), [choices, query]);
  const upstreams = useCell(usePage().choices)?.upstreams ?? [];
  const written = writtenChoice(query, choices, upstreams);
  const shown = [...found.slice(0, most), ...(written === undefined ? [] : [written])];
  const first = query === "" ? shown.findIndex(({ who }) => isSame(who, chosen)) : 0;
  const [moved, setMoved] = useState<number | undefined>(undefined);
  const at = Math.min(moved ?? Math.max(first, 0), shown.length - 1);

  usePopoverBeside(popover, button, () => onClose(false), placeWhereRoomIs);
  useLayoutEffect(() => {
    popover.current?.querySelector("input")?.focus();
  }, []);

  const onKey = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const entry = shown[at];
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 8,
      PageUp: -8,
    };
    const step = steps[event.key];
    if (step !== undefined && shown.length > 0) setMoved(moveBy(at, step, shown.length));
    else if (event.key === "Enter" && entry !== undefined) onChoose(entry.who);
    else if (event.key === "Escape") onClose(true);
    else if (event.key === "Tab") return onClose(true);
    else return undefined;
    event.preventDefault();
    return event.stopPropagation();
  };

  return (
    <div
      ref={popover}
      className="menu chat-picker-list"
      popover="manual"
      role="dialog"
      aria-label={label}
    >
      <input
        className="input"
        type="search"
        role="combobox"
        aria-label={words.search}
        placeholder={words.search}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={shown.length === 0 ? undefined : `${id}-${at}`}
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setMoved(undefined);
        }}
        onKeyDown={onKey}
      />
      {note !== undefined && <p className="chat-picker-more">{note}</p>}
      <div id={id} className="chat-picker-entries" role="listbox" aria-label={label}>
        {groupsOf(shown).map(({ group, entries }) => (
          <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
            <div className="chat-picker-group" id={`${id}-${group}`} role="presentation">
              {words[groupWords[group]]}
            </div>
            {entries.map(({ choice, index }) => (
              <Entry
                key={choice.id}
                id={`${id}-${index}`}
                choice={choice}
                isChosen={isSame(choice.who, chosen)}
                isCurrent={index === at}
                onChoose={() => onChoose(choice.who)}
              />
            ))}
          </div>
        ))}
      </div>
      {shown.length === 0 && <p className="chat-picker-more">{words.nothingFound(query)}</p>}
      {found.length > most && (
        <p className="chat-picker-more">{words.moreFound(found.length - most)}</p>
      )}
    </div>
  );
}

interface EntryProps {
  id: string;
  choice: Choice;
  isChosen: boolean;
  isCurrent: boolean;
  onChoose: () => void;
}

function Entry({ id, choice, isChosen, isCurrent, onChoose }: EntryProps) {
  const words = useWords(composerWords);
  const { name, description, group, model } = choice;
  const about =
    description ||
    abilities(model)
      .map((each) => words[each])
      .join(" · ");
  return (
    // The keys are those of the field above, which keeps the focus.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      id={id}
      ref={isCurrent ? scrollHere : undefined}
      role="option"
      tabIndex={-1}
      aria-selected={isChosen}
      data-current={isCurrent || undefined}
      className="chat-picker-entry"
      onClick={onChoose}
    >
      <span className="chat-picker-check">{isChosen && <Icon name="check" small />}</span>
      <span className="chat-picker-text">
        <span>{group === "written" ? words.writtenModel(name) : name}</span>
        {about !== "" && <small>{about}</small>}
      </span>
    </div>
  );
}

type AbilityWord =
  | "takesImages"
  | "takesAudio"
  | "takesFiles"
  | "takesTools"
  | `makes_${ModelChoice["type"]}`;

/** What tells one model from another, in words. */
function abilities(model: ModelChoice | undefined): AbilityWord[] {
  if (model === undefined) return [];
  if (model.type !== "chat") return [`makes_${model.type}`];
  return [
    ...(model.images ? (["takesImages"] as const) : []),
    ...(model.audio ? (["takesAudio"] as const) : []),
    ...(model.files ? (["takesFiles"] as const) : []),
    ...(model.tools ? (["takesTools"] as const) : []),
  ];
}

const groupWords = {
  default: "groupDefault",
  agents: "groupAgents",
  chat: "groupChat",
  pictures: "groupPictures",
  sound: "groupSound",
  written: "groupWritten",
} as const satisfies Record<ChoiceGroup, string>;

function groupsOf(choices: readonly Choice[]) {
  const groups: { group: ChoiceGroup; entries: { choice: Choice; index: number }[] }[] = [];
  for (const [index, choice] of choices.entries()) {
    const last = groups.at(-1);
    if (last?.group === choice.group) last.entries.push({ choice, index });
    else groups.push({ group: choice.group, entries: [{ choice, index }] });
  }
  return groups;
}

/** Over the ends by one step only. */
function moveBy(at: number, step: number, length: number): number {
  if (Math.abs(step) === 1) return (at + step + length) % length;
  return Math.max(0, Math.min(at + step, length - 1));
}

const tallest = 448;
const edges = 16;

/** Above or below the button, and no taller than fits there. */
function placeWhereRoomIs(shown: HTMLElement, from: Element): void {
  const { top, bottom } = from.getBoundingClientRect();
  const room = Math.max(top, window.innerHeight - bottom) - edges;
  shown.style.maxHeight = `${Math.round(Math.min(room, tallest))}px`;
  placeBeside(shown, from);
}

function isSame(one: Who, other: Who): boolean {
  return one.agent === other.agent && one.model === other.model;
}

function scrollHere(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
