import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import {
  ChatApiError,
  runningAnswers,
  type ChatClient,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { useCell, usePicked } from "../hooks/use-cell.ts";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Icon, type IconName } from "../parts/icon.tsx";
import type { OpenChat } from "../state/page.ts";
import { unreachable } from "../unreachable.ts";
import { useWords } from "../words/use-words.ts";
import type { SectionProps } from "./setting-field.tsx";
import {
  emptyForm,
  fieldPaths,
  formOf,
  isSet,
  isSameForm,
  patchBetween,
  placedAt,
  readForm,
  sectionOf,
  type FieldProblem,
  type FieldProblems,
  type SectionName,
  type SettingsForm,
  type SettingsPatch,
} from "./settings-form.ts";
import { PrivacySettings } from "./settings-privacy.tsx";
import { AnswerSettings, ConversationSettings, ToolSettings } from "./settings-sections.tsx";
import { settingsWords } from "./settings-words.ts";
import "./settings.css";

interface ChatSettingsDialogProps {
  chat: OpenChat;
  /** What is shown first. */
  section?: SectionName;
  onClose: () => void;
}

const noSettings: ChatSettings = {};

/** All that a chat can be set to. Saved at once, and only what was changed. */
export function ChatSettingsDialog({
  chat,
  section: firstSection = "answer",
  onClose,
}: ChatSettingsDialogProps) {
  const page = usePage();
  const words = useWords(settingsWords);
  const choices = useCell(page.choices);
  const isLocked = usePicked(
    chat.state,
    (state) => state.is === "ready" && runningAnswers(state.chat).length > 0,
  );
  const [first] = useState(() => formOf(settingsOf(chat)));
  const [form, setForm] = useState<SettingsForm>(first);
  const [problems, setProblems] = useState<FieldProblems>({});
  const [section, setSection] = useState<SectionName>(firstSection);
  const [isSaving, setSaving] = useState(false);
  const [isLeaving, setLeaving] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const isChanged = !isSameForm(first, form);

  useEffect(() => {
    if (Object.keys(problems).length > 0)
      body.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problems]);

  const show = (wrong: FieldProblems) => {
    const places = Object.keys(wrong).map(sectionOf);
    const [place] = places.filter((each) => each !== undefined);
    if (place !== undefined && !places.includes(section)) setSection(place);
    setProblems(wrong);
  };
  const save = async () => {
    const read = readForm(form);
    if (Object.keys(read.problems).length > 0) return show(read.problems);
    const patch = patchBetween(readForm(first).settings, read.settings);
    if (Object.keys(patch).length === 0) return onClose();
    setSaving(true);
    try {
      await saveSettings(page.client, chat, patch);
      return onClose();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const param = error instanceof ChatApiError ? error.param : undefined;
      const { field, text } = placedAt(message, param);
      return show({ [field]: { is: "told", text } });
    } finally {
      setSaving(false);
    }
  };
  const close = () => {
    if (isSaving) return;
    if (isChanged) setLeaving(true);
    else onClose();
  };
  const errorAt = (field: string) => said(problems[field], words);
  const change = (field: string, patch: Partial<SettingsForm>) => {
    setForm((before) => ({ ...before, ...patch }));
    setLeaving(false);
    setProblems(({ [field]: _mended, ...others }) =>
      field === "privacy" ? withoutPrivacy(others) : others,
    );
  };
  const set: SectionProps["set"] = (name, value) => change(fieldPaths[name], { [name]: value });
  const shown: SectionProps = {
    form,
    choices,
    defaults: choices?.defaults,
    errorAt,
    change,
    set,
    field: (name) => ({
      error: errorAt(fieldPaths[name]),
      isSaid: isSet(form, name),
      onReset: () => set(name, emptyForm[name]),
    }),
    text: (name) => ({
      value: form[name],
      onChange: ({ currentTarget }) => set(name, currentTarget.value),
    }),
  };
  const general = said(problems[""], words);
  return (
    <Dialog
      wide
      title={words.title}
      onClose={close}
      footer={
        isLeaving ? (
          <>
            <p className="chat-settings-said" role="alert">
              {words.unsaved}
            </p>
            <Button kind="danger" onClick={onClose}>
              {words.discard}
            </Button>
            <Button kind="primary" onClick={() => setLeaving(false)}>
              {words.keepEditing}
            </Button>
          </>
        ) : (
          <>
            {general !== undefined && (
              <p className="chat-settings-said field-error" role="alert">
                {general}
              </p>
            )}
            <Button onClick={close}>{words.cancel}</Button>
            <Button
              kind="primary"
              busy={isSaving}
              disabled={!isChanged}
              onClick={() => void save()}
            >
              {words.save}
            </Button>
          </>
        )
      }
    >
      <div className="chat-settings" ref={body}>
        <Sections
          chosen={section}
          wrong={Object.keys(problems).map(sectionOf)}
          onChoose={setSection}
          isLocked={isLocked}
          shown={shown}
        />
      </div>
    </Dialog>
  );
}

interface SectionsProps {
  chosen: SectionName;
  wrong: readonly (SectionName | undefined)[];
  onChoose: (section: SectionName) => void;
  isLocked: boolean;
  shown: SectionProps;
}

const sections: readonly { readonly name: SectionName; readonly icon: IconName }[] = [
  { name: "answer", icon: "quote" },
  { name: "tools", icon: "tool" },
  { name: "conversation", icon: "list" },
  { name: "privacy", icon: "shield" },
];

function Sections({ chosen, wrong, onChoose, isLocked, shown }: SectionsProps) {
  const words = useWords(settingsWords);
  const id = useId();
  const tabs = useRef<HTMLDivElement>(null);
  const at = sections.findIndex(({ name }) => name === chosen);
  const onKey = (event: KeyboardEvent) => {
    const to = tabAfter(event.key, at);
    const next = to === undefined ? undefined : sections[to];
    if (next === undefined) return;
    event.preventDefault();
    onChoose(next.name);
    tabs.current?.querySelectorAll<HTMLElement>('[role="tab"]')[to ?? 0]?.focus();
  };
  return (
    <>
      <div
        ref={tabs}
        className="chat-settings-tabs"
        role="tablist"
        aria-label={words.sections}
        onKeyDown={onKey}
        tabIndex={-1}
      >
        {sections.map(({ name, icon }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            className="chat-settings-tab"
            aria-selected={name === chosen}
            aria-controls={name === chosen ? `${id}-panel` : undefined}
            tabIndex={name === chosen ? 0 : -1}
            onClick={() => onChoose(name)}
          >
            <Icon name={icon} small />
            {words[name]}
            {wrong.includes(name) && (
              <span className="chat-settings-wrong" role="img" aria-label={words.withErrors}>
                <Icon name="warning" small />
              </span>
            )}
          </button>
        ))}
      </div>
      <div
        key={chosen}
        className="chat-settings-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${chosen}`}
      >
        {chosen === "answer" && <AnswerSettings {...shown} />}
        {chosen === "tools" && <ToolSettings {...shown} />}
        {chosen === "conversation" && <ConversationSettings {...shown} />}
        {chosen === "privacy" && <PrivacySettings {...shown} isLocked={isLocked} />}
      </div>
    </>
  );
}

function tabAfter(key: string, at: number): number | undefined {
  const last = sections.length - 1;
  if (key === "ArrowDown" || key === "ArrowRight") return at === last ? 0 : at + 1;
  if (key === "ArrowUp" || key === "ArrowLeft") return at === 0 ? last : at - 1;
  if (key === "Home") return 0;
  return key === "End" ? last : undefined;
}

function settingsOf(chat: OpenChat): ChatSettings {
  const state = chat.state.get();
  return state.is === "ready" ? state.chat.settings : noSettings;
}

/** Rows have moved: what was wrong with one is no longer where it was. */
function withoutPrivacy(problems: FieldProblems): FieldProblems {
  return Object.fromEntries(
    Object.entries(problems).filter(([field]) => !field.startsWith("privacy")),
  );
}

function said(
  problem: FieldProblem | undefined,
  words: (typeof settingsWords)["en"],
): string | undefined {
  if (problem === undefined) return undefined;
  switch (problem.is) {
    case "no number":
      return words.noNumber;
    case "no json":
      return words.noJson;
    case "no object":
      return words.noObject;
    case "said twice":
      return words.saidTwice;
    case "told":
      return problem.text;
    default:
      return unreachable(problem);
  }
}

/**
 * Changes what has changed, all or nothing. Throws what the gateway says against it, with the place of the fault, which is
 * why it is no `chat.change`. A chat that somebody else has touched meanwhile gets it too: only these fields are meant.
 */
export async function saveSettings(
  client: Pick<ChatClient, "edits">,
  chat: Pick<OpenChat, "chatId" | "state" | "readAnew">,
  patch: SettingsPatch,
): Promise<void> {
  const edits = [{ type: "settings", patch }] as const;
  const state = chat.state.get();
  const save = (revision: number) => client.edits(chat.chatId, { revision, edits });
  try {
    await save(state.is === "ready" ? state.chat.revision : 0);
  } catch (error) {
    const now = error instanceof ChatApiError && error.code === "conflict" && error.revision;
    if (typeof now !== "number") throw error;
    await save(now);
  }
  await chat.readAnew();
}
