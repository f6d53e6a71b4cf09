/** Form fields: each has a label, may have a hint and an error, and says both to readers. */

import {
  type InputHTMLAttributes,
  type ReactNode,
  type Ref,
  type SelectHTMLAttributes,
  type TextareaHTMLAttributes,
  useId,
} from "react";

import { classes } from "./class.ts";
import style from "./field.module.css";

/** What every field has. */
export interface FieldProps {
  readonly label: string;
  readonly hint?: string | undefined;
  readonly error?: string | undefined;
  /** The label is for readers only. */
  readonly hideLabel?: boolean;
}

type Frame = FieldProps & { readonly children: (ids: { id: string; describedBy: string | undefined }) => ReactNode };

function Frame({ label, hint, error, hideLabel = false, children }: Frame): ReactNode {
  const id = useId();
  const noteId = `${id}n`;
  const note = error ?? hint;
  return (
    <div className={style.field}>
      <label htmlFor={id} className={hideLabel ? style.hidden : style.label}>
        {label}
      </label>
      {children({ id, describedBy: note === undefined ? undefined : noteId })}
      {note !== undefined && (
        <p id={noteId} className={error === undefined ? style.hint : style.error}>
          {note}
        </p>
      )}
    </div>
  );
}

function split<Props extends FieldProps>(props: Props): [FieldProps, Omit<Props, keyof FieldProps>] {
  const { label, hint, error, hideLabel, ...rest } = props;
  return [{ label, hint, error, hideLabel: hideLabel ?? false }, rest];
}

/** One line of text. */
export function TextField(
  props: FieldProps & InputHTMLAttributes<HTMLInputElement> & { readonly ref?: Ref<HTMLInputElement> },
): ReactNode {
  const [field, rest] = split(props);
  return (
    <Frame {...field}>
      {({ id, describedBy }) => (
        <input
          type="text"
          autoComplete="off"
          {...rest}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={field.error !== undefined || undefined}
          className={classes(style.input, rest.className)}
        />
      )}
    </Frame>
  );
}

/** Several lines of text. */
export function TextArea(
  props: FieldProps & TextareaHTMLAttributes<HTMLTextAreaElement> & { readonly ref?: Ref<HTMLTextAreaElement> },
): ReactNode {
  const [field, rest] = split(props);
  return (
    <Frame {...field}>
      {({ id, describedBy }) => (
        <textarea
          rows={4}
          {...rest}
          id={id}
          aria-describedby={describedBy}
          aria-invalid={field.error !== undefined || undefined}
          className={classes(style.input, rest.className)}
        />
      )}
    </Frame>
  );
}

/** One of several; options are pairs of value and label. */
export function SelectField(
  props: FieldProps &
    SelectHTMLAttributes<HTMLSelectElement> & {
      readonly options: readonly (readonly [value: string, label: string])[];
    },
): ReactNode {
  const [field, { options, ...rest }] = split(props);
  return (
    <Frame {...field}>
      {({ id, describedBy }) => (
        <select {...rest} id={id} aria-describedby={describedBy} className={classes(style.input, rest.className)}>
          {options.map(([value, label]) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </select>
      )}
    </Frame>
  );
}

/** Yes or no. */
export function CheckField({
  label,
  ...rest
}: { readonly label: string } & InputHTMLAttributes<HTMLInputElement>): ReactNode {
  return (
    <label className={style.check}>
      <input type="checkbox" {...rest} />
      <span>{label}</span>
    </label>
  );
}
