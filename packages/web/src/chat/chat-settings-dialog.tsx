import { assertNever } from "@deltawire/tasks";
import { useEffect, useId, useRef, useState, type KeyboardEvent } from "react";
import {
  ChatApiError,
  findRunningAnswers,
  type ChatClient,
  type ChatSettings,
} from "@deltawire/tasks/chats";
import { useCell, useCellSelector } from "../hooks/use-cell.ts";
import { useAppStore } from "../hooks/use-app-store.ts";
import { Button } from "../ui/button.tsx";
import { Dialog } from "../ui/dialog.tsx";
import { Icon, type IconName } from "../ui/icon.tsx";
import type { OpenChat } from "../state/app-store.ts";
import { useMessages } from "../messages/use-messages.ts";
import type { SettingsSectionProps } from "./setting-field.tsx";
import {
  emptyForm,
  fieldPaths,
  toSettingsForm,
  isFieldSet,
  isSameForm,
  diffSettings,
  parseFieldError,
  parseSettingsForm,
  findSection,
  type FieldProblem,
  type FieldProblems,
  type SectionName,
  type SettingsForm,
  type SettingsPatch,
} from "./settings-form.ts";
import { PrivacySection } from "./settings-privacy-section.tsx";
import { AnswerSection, ConversationSection, ToolsSection } from "./settings-sections.tsx";
import { settingsMessages } from "./settings-messages.ts";
import "./settings.css";

interface ChatSettingsDialogProps {
  chat: OpenChat;
  /** The section shown first. Default "answer". */
  section?: SectionName;
  onClose: () => void;
}

const emptySettings: ChatSettings = {};

/** The settings of a chat. Saves the changed settings in one request. */
export function ChatSettingsDialog({
  chat,
  section: firstSection = "answer",
  onClose,
}: ChatSettingsDialogProps) {
  const app = useAppStore();
  const t = useMessages(settingsMessages);
  const choices = useCell(app.choices);
  const isLocked = useCellSelector(
    chat.state,
    (state) => state.status === "ready" && findRunningAnswers(state.chat).length > 0,
  );
  const [initialForm] = useState(() => toSettingsForm(getChatSettings(chat)));
  const [form, setForm] = useState<SettingsForm>(initialForm);
  const [problems, setProblems] = useState<FieldProblems>({});
  const [section, setSection] = useState<SectionName>(firstSection);
  const [isSaving, setSaving] = useState(false);
  const [isConfirmingDiscard, setConfirmingDiscard] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const isChanged = !isSameForm(initialForm, form);

  useEffect(() => {
    if (Object.keys(problems).length > 0)
      body.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus();
  }, [problems]);

  const showProblems = (newProblems: FieldProblems) => {
    const sections = Object.keys(newProblems).map(findSection);
    const [firstWithError] = sections.filter((name) => name !== undefined);
    if (firstWithError !== undefined && !sections.includes(section)) setSection(firstWithError);
    setProblems(newProblems);
  };
  const save = async () => {
    const parsed = parseSettingsForm(form);
    if (Object.keys(parsed.problems).length > 0) return showProblems(parsed.problems);
    const patch = diffSettings(parseSettingsForm(initialForm).settings, parsed.settings);
    if (Object.keys(patch).length === 0) return onClose();
    setSaving(true);
    try {
      await saveChatSettings(app.client, chat, patch);
      return onClose();
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const param = error instanceof ChatApiError ? error.param : undefined;
      const { field, text } = parseFieldError(message, param);
      return showProblems({ [field]: { type: "server_message", text } });
    } finally {
      setSaving(false);
    }
  };
  const close = () => {
    if (isSaving) return;
    if (isChanged) setConfirmingDiscard(true);
    else onClose();
  };
  const getError = (path: string) => formatFieldProblem(problems[path], t);
  const changeForm = (path: string, patch: Partial<SettingsForm>) => {
    setForm((current) => ({ ...current, ...patch }));
    setConfirmingDiscard(false);
    setProblems(({ [path]: _resolved, ...others }) =>
      path === "privacy" ? withoutPrivacyProblems(others) : others,
    );
  };
  const setField: SettingsSectionProps["setField"] = (name, value) =>
    changeForm(fieldPaths[name], { [name]: value });
  const sectionProps: SettingsSectionProps = {
    form,
    choices,
    defaults: choices?.defaults,
    getError,
    changeForm,
    setField,
    getFieldProps: (name) => ({
      error: getError(fieldPaths[name]),
      isOverridden: isFieldSet(form, name),
      onReset: () => setField(name, emptyForm[name]),
    }),
    getTextProps: (name) => ({
      value: form[name],
      onChange: ({ currentTarget }) => setField(name, currentTarget.value),
    }),
  };
  const generalError = formatFieldProblem(problems[""], t);
  return (
    <Dialog
      wide
      title={t.title}
      onClose={close}
      footer={
        isConfirmingDiscard ? (
          <>
            <p className="chat-settings-message" role="alert">
              {t.unsaved}
            </p>
            <Button kind="danger" onClick={onClose}>
              {t.discard}
            </Button>
            <Button kind="primary" onClick={() => setConfirmingDiscard(false)}>
              {t.keepEditing}
            </Button>
          </>
        ) : (
          <>
            {generalError !== undefined && (
              <p className="chat-settings-message field-error" role="alert">
                {generalError}
              </p>
            )}
            <Button onClick={close}>{t.cancel}</Button>
            <Button
              kind="primary"
              busy={isSaving}
              disabled={!isChanged}
              onClick={() => void save()}
            >
              {t.save}
            </Button>
          </>
        )
      }
    >
      <div className="chat-settings" ref={body}>
        <SettingsTabs
          selected={section}
          sectionsWithErrors={Object.keys(problems).map(findSection)}
          onSelect={setSection}
          isLocked={isLocked}
          sectionProps={sectionProps}
        />
      </div>
    </Dialog>
  );
}

interface SettingsTabsProps {
  selected: SectionName;
  sectionsWithErrors: readonly (SectionName | undefined)[];
  onSelect: (section: SectionName) => void;
  isLocked: boolean;
  sectionProps: SettingsSectionProps;
}

const settingsTabs: readonly { readonly name: SectionName; readonly icon: IconName }[] = [
  { name: "answer", icon: "quote" },
  { name: "tools", icon: "tool" },
  { name: "conversation", icon: "list" },
  { name: "privacy", icon: "shield" },
];

function SettingsTabs({
  selected,
  sectionsWithErrors,
  onSelect,
  isLocked,
  sectionProps,
}: SettingsTabsProps) {
  const t = useMessages(settingsMessages);
  const id = useId();
  const tabs = useRef<HTMLDivElement>(null);
  const selectedIndex = settingsTabs.findIndex(({ name }) => name === selected);
  const onKeyDown = (event: KeyboardEvent) => {
    const nextIndex = getNextTabIndex(event.key, selectedIndex);
    const next = nextIndex === undefined ? undefined : settingsTabs[nextIndex];
    if (next === undefined) return;
    event.preventDefault();
    onSelect(next.name);
    tabs.current?.querySelectorAll<HTMLElement>('[role="tab"]')[nextIndex ?? 0]?.focus();
  };
  return (
    <>
      <div
        ref={tabs}
        className="chat-settings-tabs"
        role="tablist"
        aria-label={t.sections}
        onKeyDown={onKeyDown}
        tabIndex={-1}
      >
        {settingsTabs.map(({ name, icon }) => (
          <button
            key={name}
            type="button"
            role="tab"
            id={`${id}-${name}`}
            className="chat-settings-tab"
            aria-selected={name === selected}
            aria-controls={name === selected ? `${id}-panel` : undefined}
            tabIndex={name === selected ? 0 : -1}
            onClick={() => onSelect(name)}
          >
            <Icon name={icon} small />
            {t[name]}
            {sectionsWithErrors.includes(name) && (
              <span className="chat-settings-error" role="img" aria-label={t.withErrors}>
                <Icon name="warning" small />
              </span>
            )}
          </button>
        ))}
      </div>
      <div
        key={selected}
        className="chat-settings-panel"
        role="tabpanel"
        id={`${id}-panel`}
        aria-labelledby={`${id}-${selected}`}
      >
        {selected === "answer" && <AnswerSection {...sectionProps} />}
        {selected === "tools" && <ToolsSection {...sectionProps} />}
        {selected === "conversation" && <ConversationSection {...sectionProps} />}
        {selected === "privacy" && <PrivacySection {...sectionProps} isLocked={isLocked} />}
      </div>
    </>
  );
}

function getNextTabIndex(key: string, index: number): number | undefined {
  const lastIndex = settingsTabs.length - 1;
  if (key === "ArrowDown" || key === "ArrowRight") return index === lastIndex ? 0 : index + 1;
  if (key === "ArrowUp" || key === "ArrowLeft") return index === 0 ? lastIndex : index - 1;
  if (key === "Home") return 0;
  return key === "End" ? lastIndex : undefined;
}

function getChatSettings(chat: OpenChat): ChatSettings {
  const state = chat.state.get();
  return state.status === "ready" ? state.chat.settings : emptySettings;
}

/** Removes the errors of all privacy rows: adding or removing a row changes their indexes. */
function withoutPrivacyProblems(problems: FieldProblems): FieldProblems {
  return Object.fromEntries(
    Object.entries(problems).filter(([field]) => !field.startsWith("privacy")),
  );
}

function formatFieldProblem(
  problem: FieldProblem | undefined,
  t: (typeof settingsMessages)["en"],
): string | undefined {
  if (problem === undefined) return undefined;
  switch (problem.type) {
    case "not_a_number":
      return t.notNumber;
    case "invalid_json":
      return t.invalidJson;
    case "not_an_object":
      return t.notObject;
    case "set_twice":
      return t.setTwice;
    case "server_message":
      return problem.text;
    default:
      return assertNever(problem);
  }
}

/**
 * Saves all changed settings or none. Throws a `ChatApiError` if the gateway rejects them, unlike `chat.change`, which shows a
 * toast. Retries once on a revision conflict: the patch has only changed settings, so it does not undo concurrent changes.
 */
export async function saveChatSettings(
  client: Pick<ChatClient, "applyEdits">,
  chat: Pick<OpenChat, "chatId" | "state" | "reload">,
  patch: SettingsPatch,
): Promise<void> {
  const edits = [{ type: "settings", patch }] as const;
  const state = chat.state.get();
  const save = (revision: number) => client.applyEdits(chat.chatId, { revision, edits });
  try {
    await save(state.status === "ready" ? state.chat.revision : 0);
  } catch (error) {
    const isConflict = error instanceof ChatApiError && error.code === "conflict";
    if (!isConflict || error.revision === undefined) throw error;
    await save(error.revision);
  }
  await chat.reload();
}
