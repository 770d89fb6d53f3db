import { useMemo } from "react";
import { Input, Select, TextArea } from "../parts/field.tsx";
import { useWords } from "../words/use-words.ts";
import { ModelPicker } from "./model-picker.tsx";
import { effortIn } from "./reasoning-effort.ts";
import { SettingField, type SectionProps } from "./setting-field.tsx";
import { settingsWords } from "./settings-words.ts";
import { answererIn, choicesToPick, isSaid } from "./who-answers.tsx";

/** Who answers, and how. */
export function AnswerSettings({ form, choices, defaults, errorAt, change }: SectionProps) {
  const words = useWords(settingsWords);
  const offered = useMemo(() => (choices === undefined ? [] : choicesToPick(choices)), [choices]);
  const answerer = choices === undefined ? undefined : answererIn(form.who, choices);
  const efforts = answerer?.model?.efforts ?? [];
  const options = defaults?.options ?? {};
  const usual = (name: string) => {
    const value = options[name];
    return typeof value === "number" ? words.usual(String(value)) : words.ofModel;
  };
  const usualEffort = effortIn(options);
  return (
    <>
      <SettingField
        label={words.who}
        hint={words.whoHint}
        error={errorAt("who")}
        isSaid={isSaid(form.who)}
        onReset={() => change("who", { who: {} })}
      >
        <ModelPicker
          label={words.who}
          shown={answerer?.name ?? words.none}
          icon={answerer?.is === "agent" ? "people" : undefined}
          choices={offered}
          chosen={form.who}
          className="input chat-setting-picker"
          onChoose={(who) => change("who", { who })}
        />
      </SettingField>
      <SettingField
        label={words.instructions}
        hint={words.instructionsHint}
        error={errorAt("instructions")}
        isSaid={form.instructions !== undefined}
        onReset={() => change("instructions", { instructions: undefined })}
      >
        <TextArea
          dir="auto"
          rows={8}
          placeholder={defaults?.instructions || words.usual(words.none)}
          value={form.instructions ?? ""}
          onChange={({ currentTarget: { value } }) =>
            change("instructions", {
              // Where something is configured, nothing is something else.
              instructions: value === "" && !defaults?.instructions ? undefined : value,
            })
          }
        />
      </SettingField>
      <div className="chat-settings-row">
        {(efforts.length > 0 || form.effort !== "") && (
          <SettingField
            label={words.effort}
            error={errorAt("options.reasoning.effort")}
            isSaid={form.effort !== ""}
            onReset={() => change("options.reasoning.effort", { effort: "" })}
          >
            <Select
              value={form.effort}
              onChange={({ currentTarget: { value } }) =>
                change("options.reasoning.effort", { effort: value })
              }
            >
              <option value="">
                {usualEffort === undefined ? words.effortUsual : words.usual(usualEffort)}
              </option>
              {[...new Set([...efforts, ...(form.effort === "" ? [] : [form.effort])])].map(
                (effort) => (
                  <option key={effort} value={effort}>
                    {effort}
                  </option>
                ),
              )}
            </Select>
          </SettingField>
        )}
        <SettingField
          label={words.temperature}
          error={errorAt("options.temperature")}
          isSaid={form.temperature !== ""}
          onReset={() => change("options.temperature", { temperature: "" })}
        >
          <Input
            inputMode="decimal"
            placeholder={usual("temperature")}
            value={form.temperature}
            onChange={({ currentTarget: { value } }) =>
              change("options.temperature", { temperature: value })
            }
          />
        </SettingField>
        <SettingField
          label={words.maxTokens}
          error={errorAt("options.max_output_tokens")}
          isSaid={form.maxTokens !== ""}
          onReset={() => change("options.max_output_tokens", { maxTokens: "" })}
        >
          <Input
            inputMode="numeric"
            placeholder={usual("max_output_tokens")}
            value={form.maxTokens}
            onChange={({ currentTarget: { value } }) =>
              change("options.max_output_tokens", { maxTokens: value })
            }
          />
        </SettingField>
      </div>
      <SettingField
        label={words.otherOptions}
        hint={words.otherOptionsHint}
        error={errorAt("options")}
        isSaid={form.otherOptions !== ""}
        onReset={() => change("options", { otherOptions: "" })}
      >
        <TextArea
          className="chat-settings-json"
          rows={4}
          spellCheck={false}
          placeholder={Object.keys(options).length === 0 ? "{}" : JSON.stringify(options)}
          value={form.otherOptions}
          onChange={({ currentTarget: { value } }) => change("options", { otherOptions: value })}
        />
      </SettingField>
    </>
  );
}
