import { useId, useLayoutEffect, useMemo, useRef, useState, type KeyboardEvent } from "react";
import type { ModelChoice } from "@deltawire/tasks/chats";
import { useCell } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Icon, type IconName } from "../ui/icon.tsx";
import { positionPopover, useAnchoredPopover } from "../ui/anchored-popover.ts";
import { useMessages } from "../messages/use-messages.ts";
import { composerMessages } from "./composer-messages.ts";
import {
  filterResponderOptions,
  parseTypedOption,
  type ResponderOption,
  type ResponderOptionGroup,
  type ResponderSelection,
} from "./responder.tsx";

interface ModelPickerProps {
  /** Accessible name. */
  label: string;
  buttonText: string;
  icon?: IconName | undefined;
  options: readonly ResponderOption[];
  selected: ResponderSelection;
  /** Shown in the tooltip and above the options. */
  hint?: string | undefined;
  onSelect: (selection: ResponderSelection) => void;
  className?: string | undefined;
  disabled?: boolean | undefined;
  id?: string | undefined;
  "aria-describedby"?: string | undefined;
  "aria-invalid"?: boolean | undefined;
}

/** A button with the selected model or agent, which opens a searchable list. */
export function ModelPicker(props: ModelPickerProps) {
  const {
    label,
    buttonText,
    icon,
    options,
    selected,
    hint,
    onSelect,
    className,
    disabled,
    ...fieldProps
  } = props;
  const t = useMessages(composerMessages);
  const [isOpen, setOpen] = useState(false);
  const button = useRef<HTMLButtonElement>(null);
  const close = (restoreFocus: boolean) => {
    setOpen(false);
    if (restoreFocus) button.current?.focus();
  };
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className ?? "button chat-picker"}
        data-kind="ghost"
        title={hint === undefined ? label : `${label}. ${hint}`}
        aria-label={t.selected(label, buttonText)}
        aria-haspopup="dialog"
        aria-expanded={isOpen}
        disabled={disabled}
        onClick={() => setOpen(!isOpen)}
        {...fieldProps}
      >
        {icon !== undefined && <Icon name={icon} small />}
        <span className="chat-picker-name">{buttonText}</span>
        <Icon name="down" small />
      </button>
      {isOpen && (
        <PickerPopover
          label={label}
          options={options}
          selected={selected}
          hint={hint}
          button={button}
          onClose={close}
          onSelect={(selection) => {
            close(true);
            onSelect(selection);
          }}
        />
      )}
    </>
  );
}

interface PickerPopoverProps {
  label: string;
  options: readonly ResponderOption[];
  selected: ResponderSelection;
  hint: string | undefined;
  button: { readonly current: HTMLButtonElement | null };
  onClose: (restoreFocus: boolean) => void;
  onSelect: (selection: ResponderSelection) => void;
}

/** A gateway may list hundreds of models. The search also finds those that are not shown. */
const maxOptions = 100;

function PickerPopover(props: PickerPopoverProps) {
  const { label, options, selected, hint, button, onClose, onSelect } = props;
  const t = useMessages(composerMessages);
  const id = useId();
  const popover = useRef<HTMLDivElement>(null);
  const [query, setQuery] = useState("");
  const matches = useMemo(() => filterResponderOptions(options, query), [options, query]);
  const upstreams = useCell(useAppStore().choices)?.upstreams ?? [];
  const typedOption = parseTypedOption(query, options, upstreams);
  const visibleOptions = [
    ...matches.slice(0, maxOptions),
    ...(typedOption === undefined ? [] : [typedOption]),
  ];
  const initialIndex =
    query === ""
      ? visibleOptions.findIndex(({ selection }) => isSameSelection(selection, selected))
      : 0;
  const [keyboardIndex, setKeyboardIndex] = useState<number | undefined>(undefined);
  const activeIndex = Math.min(
    keyboardIndex ?? Math.max(initialIndex, 0),
    visibleOptions.length - 1,
  );

  useAnchoredPopover(popover, button, () => onClose(false), positionInAvailableSpace);
  useLayoutEffect(() => {
    popover.current?.querySelector("input")?.focus();
  }, []);

  const onKeyDown = (event: KeyboardEvent) => {
    if (event.nativeEvent.isComposing) return;
    const option = visibleOptions[activeIndex];
    const steps: Readonly<Record<string, number>> = {
      ArrowDown: 1,
      ArrowUp: -1,
      PageDown: 8,
      PageUp: -8,
    };
    const step = steps[event.key];
    if (step !== undefined && visibleOptions.length > 0)
      setKeyboardIndex(moveIndex(activeIndex, step, visibleOptions.length));
    else if (event.key === "Enter" && option !== undefined) onSelect(option.selection);
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
        aria-label={t.search}
        placeholder={t.search}
        aria-expanded="true"
        aria-controls={id}
        aria-activedescendant={visibleOptions.length === 0 ? undefined : `${id}-${activeIndex}`}
        autoComplete="off"
        spellCheck={false}
        value={query}
        onChange={(event) => {
          setQuery(event.currentTarget.value);
          setKeyboardIndex(undefined);
        }}
        onKeyDown={onKeyDown}
      />
      {hint !== undefined && <p className="chat-picker-hint">{hint}</p>}
      <div id={id} className="chat-picker-options" role="listbox" aria-label={label}>
        {groupOptions(visibleOptions).map(({ group, entries }) => (
          <div key={group} role="group" aria-labelledby={`${id}-${group}`}>
            <div className="chat-picker-group" id={`${id}-${group}`} role="presentation">
              {t[groupMessageKeys[group]]}
            </div>
            {entries.map(({ option, index }) => (
              <PickerOption
                key={option.id}
                id={`${id}-${index}`}
                option={option}
                isSelected={isSameSelection(option.selection, selected)}
                isActive={index === activeIndex}
                onSelect={() => onSelect(option.selection)}
              />
            ))}
          </div>
        ))}
      </div>
      {visibleOptions.length === 0 && <p className="chat-picker-hint">{t.nothingFound(query)}</p>}
      {matches.length > maxOptions && (
        <p className="chat-picker-hint">{t.moreResults(matches.length - maxOptions)}</p>
      )}
    </div>
  );
}

interface PickerOptionProps {
  id: string;
  option: ResponderOption;
  isSelected: boolean;
  isActive: boolean;
  onSelect: () => void;
}

function PickerOption({ id, option, isSelected, isActive, onSelect }: PickerOptionProps) {
  const t = useMessages(composerMessages);
  const { name, description, group, model } = option;
  const details =
    description ||
    listCapabilities(model)
      .map((key) => t[key])
      .join(" · ");
  return (
    // Keys are handled by the search field above, which keeps the focus.
    // oxlint-disable-next-line jsx-a11y/click-events-have-key-events
    <div
      id={id}
      ref={isActive ? scrollToNearest : undefined}
      role="option"
      tabIndex={-1}
      aria-selected={isSelected}
      data-current={isActive || undefined}
      className="chat-picker-option"
      onClick={onSelect}
    >
      <span className="chat-picker-check">{isSelected && <Icon name="check" small />}</span>
      <span className="chat-picker-text">
        <span>{group === "typed" ? t.typedModel(name) : name}</span>
        {details !== "" && <small>{details}</small>}
      </span>
    </div>
  );
}

type CapabilityKey =
  | "takesImages"
  | "takesAudio"
  | "takesFiles"
  | "takesTools"
  | `makes_${ModelChoice["type"]}`;

/** Returns message keys for the input and output types of a model. */
function listCapabilities(model: ModelChoice | undefined): CapabilityKey[] {
  if (model === undefined) return [];
  if (model.type !== "chat") return [`makes_${model.type}`];
  return [
    ...(model.images ? (["takesImages"] as const) : []),
    ...(model.audio ? (["takesAudio"] as const) : []),
    ...(model.files ? (["takesFiles"] as const) : []),
    ...(model.tools ? (["takesTools"] as const) : []),
  ];
}

const groupMessageKeys = {
  default: "groupDefault",
  agents: "groupAgents",
  chat: "groupChat",
  images: "groupImages",
  audio: "groupAudio",
  typed: "groupTyped",
} as const satisfies Record<ResponderOptionGroup, string>;

function groupOptions(options: readonly ResponderOption[]) {
  const groups: {
    group: ResponderOptionGroup;
    entries: { option: ResponderOption; index: number }[];
  }[] = [];
  for (const [index, option] of options.entries()) {
    const last = groups.at(-1);
    if (last?.group === option.group) last.entries.push({ option, index });
    else groups.push({ group: option.group, entries: [{ option, index }] });
  }
  return groups;
}

/** Single steps wrap around. Page steps do not. */
function moveIndex(index: number, step: number, length: number): number {
  if (Math.abs(step) === 1) return (index + step + length) % length;
  return Math.max(0, Math.min(index + step, length - 1));
}

const maxHeightPx = 448;
const viewportMarginPx = 16;

/** Positions the popover above or below the button, wherever there is more space, and limits its height to that space. */
function positionInAvailableSpace(popover: HTMLElement, anchor: Element): void {
  const { top, bottom } = anchor.getBoundingClientRect();
  const availableHeight = Math.max(top, window.innerHeight - bottom) - viewportMarginPx;
  popover.style.maxHeight = `${Math.round(Math.min(availableHeight, maxHeightPx))}px`;
  positionPopover(popover, anchor);
}

function isSameSelection(a: ResponderSelection, b: ResponderSelection): boolean {
  return a.agent === b.agent && a.model === b.model;
}

function scrollToNearest(element: HTMLElement | null): void {
  element?.scrollIntoView({ block: "nearest" });
}
