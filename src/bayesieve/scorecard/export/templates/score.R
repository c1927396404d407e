# Scores rows by a model of bayesieve, with base R (4.0 or later) and nothing else.
#
#     source("scoring.R")
#     score(data.frame(age = 41, purpose = "car"))                 # prediction, score and P(class) of each row
#     reasons(data.frame(age = 41, purpose = "car"), n = 4)        # columns that lower the score of a class, in nats
#
# A data frame has a column for each of model$columns; others are ignored. Values are numbers, logicals, texts, factors,
# Date, POSIXct or difftime objects, and NA if they are missing. Texts are read as the type of the column: "1e3",
# "true", "2024-12-31", "2024-12-31T23:59:59.5+01:00", "23:59", "-2d 12:00:00", or "" and "NA" if missing. What cannot
# be read counts as never seen in training. A missing column or an infinite number is an error.

model <- __MODEL__

local({
  n_of_terms <- max(0, unlist(lapply(model$terms, function(term) term$readers)) + 1)  # the others are of texts alone
  blanks <- "[\t-\r\u001c-\u0020\u0085\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # of Python
  trim <- function(text) gsub(paste0("^", blanks, "|", blanks, "$"), "", enc2utf8(text), perl = TRUE)
  missing_texts <- c("", "?", ".", "-", "NA", "N/A", "n/a", "na", "#N/A", "#NA", "<NA>", "NaN", "nan", "NAN", "-nan",
                     "-NaN", "null", "NULL", "Null", "None", "none", "NONE")
  booleans <- c("true" = 1, "True" = 1, "TRUE" = 1, "false" = 0, "False" = 0, "FALSE" = 0)
  float <- "^[+-]?(([0-9]+\\.?[0-9]*|\\.[0-9]+)([eE][+-]?[0-9]+)?|[iI][nN][fF]([iI][nN][iI][tT][yY])?)$"
  moment <- paste0("^(?:([0-9]{4}-[0-9]{2}-[0-9]{2})(?:$|[T ](?=[0-9]))|(-?)(?:([0-9]+)d ?)?)",
                   "(?:([0-9]{1,2}(?=:)|[0-9]{2})(?::([0-9]{2})(?::([0-9]{2})(?:[.,]([0-9]{1,9}))?)?)?",
                   "(?: ?(Z|[+-][0-9]{2}:?[0-9]{2}))?)?$")

  # Dates as days since 1970-01-01; moments since then in UTC, times and durations as microseconds; NA if not one.
  moment_of <- function(text, kind) {
    match <- regmatches(text, regexec(moment, text, perl = TRUE))[[1]]
    if (length(match) == 0) return(NA_real_)
    has <- nzchar(match)
    kinds <- if (has[2]) c("date", "datetime") else if (has[3] || has[4]) "duration" else
      if (has[5]) c("time", "duration") else character()
    number <- function(i) if (has[i]) as.numeric(match[i]) else 0
    day <- if (has[2]) tryCatch(as.numeric(as.Date(match[2], format = "%Y-%m-%d")), error = function(e) NA) else 0
    clock <- c(number(5), number(6), number(7))
    if (!(kind %in% kinds) || is.na(day) || any(clock >= c(24, 60, 60)) || (has[2] && match[2] < "0001")) {
      return(NA_real_)
    }
    zone <- match[9]
    away <- if (has[2] && has[9] && zone != "Z") {
      as.numeric(paste0(substr(zone, 1, 1), "1")) *
        (as.numeric(substr(zone, 2, 3)) * 60 + as.numeric(substr(zone, nchar(zone) - 1, nchar(zone))))
    } else 0
    fraction <- as.numeric(substr(paste0(match[8], "000000"), 1, 6))
    micros <- ((((day + number(4)) * 24 + clock[1]) * 60 + clock[2] - away) * 60 + clock[3]) * 1e6 + fraction
    if (kind == "date") micros / 86400e6 else if (has[3]) -micros else micros
  }

  # The shortest text of a number that R reads as the same number, as Python writes it.
  text_of_number <- function(number) {
    text <- ""
    for (digits in 1:17) {
      text <- formatC(number, digits = digits - 1, format = "e")
      if (as.numeric(text) == number) break
    }
    mantissa <- sub("e.*", "", text)
    exponent <- as.integer(sub(".*e", "", text))
    sign <- if (startsWith(mantissa, "-")) "-" else ""
    figures <- gsub("[-.]", "", mantissa)
    n <- nchar(figures)
    if (exponent >= 16 || exponent < -4) {
      mantissa <- if (n > 1) paste0(substr(figures, 1, 1), ".", substr(figures, 2, n)) else figures
      return(sprintf("%s%se%s%02d", sign, mantissa, if (exponent < 0) "-" else "+", abs(exponent)))
    }
    if (exponent < 0) return(paste0(sign, "0.", strrep("0", -exponent - 1), figures))
    figures <- paste0(figures, strrep("0", max(0, exponent + 1 - n)))
    decimals <- substr(figures, exponent + 2, nchar(figures))
    paste0(sign, substr(figures, 1, exponent + 1), ".", if (nzchar(decimals)) decimals else "0")
  }

  # The number of a text: NA if it is missing, NULL if it cannot be read.
  number_of_text <- function(text, kind) {
    if (text %in% missing_texts) return(NA_real_)
    if (kind != "number") {
      found <- moment_of(text, kind)
      return(if (is.na(found)) NULL else found)
    }
    if (text %in% names(booleans)) return(unname(booleans[text]))
    if (grepl(float, text)) as.numeric(text) else NULL
  }

  # The texts by which a value may be known, the best first; the last is NA if it is missing, or "" if blank.
  texts_of <- function(value, kind) {
    if (is.na(value)) return(NA_character_)
    if (is.logical(value)) return(if (value) c("True", "true", "TRUE", "1") else c("False", "false", "FALSE", "0"))
    if (is.numeric(value)) {
      is_whole <- is.finite(value) && value == trunc(value) && abs(value) < 2^64
      whole <- if (is_whole) sprintf("%.0f", value) else text_of_number(value)
      return(c(whole, text_of_number(value), if (value == 0) "False" else if (value == 1) "True" else whole))
    }
    text <- enc2utf8(as.character(value))
    number <- if (kind == "mixed") number_of_text(trim(text), "number") else NULL
    c(text, if (!is.null(number) && !is.na(number)) texts_of(number, kind), trim(text))
  }

  # Values as numbers in the unit of the kind.
  in_unit <- function(values, kind) {
    if (inherits(values, "Date")) return(as.numeric(values) * (if (kind == "date") 1 else 86400e6))
    if (inherits(values, "POSIXt")) {
      seconds <- as.numeric(as.POSIXct(values))
      return(if (kind == "date") seconds / 86400 else round(seconds * 1e6))
    }
    if (inherits(values, "difftime")) return(round(as.numeric(values, units = "secs") * 1e6))
    if (kind == "number" && (is.numeric(values) || is.logical(values))) return(as.numeric(values))
    NULL
  }

  # The codes of the values of a column, from 0 on.
  codes_of <- function(reader, rows) {
    values <- rows[[reader$column]]
    if (is.factor(values)) values <- as.character(values)
    if (is.list(values)) stop(sprintf("Column '%s' is a list; give a vector.", reader$column), call. = FALSE)
    different <- values[!duplicated(values)]  # unique() drops the unit of durations in older R
    codes <- vapply(seq_along(different), function(i) code_of(different[i], reader), 0)
    codes[match(values, different)]
  }

  code_of <- function(value, reader) {
    if (reader$kind %in% c("text", "mixed")) {
      if (inherits(value, "Date") || inherits(value, "POSIXt")) value <- as.character(value)
      texts <- texts_of(value, reader$kind)
      found <- match(texts, reader$texts)
      found <- found[!is.na(found)]
      if (length(found)) return(reader$codes_of_texts[found[1]])
      last <- texts[length(texts)]
      return(if (is.na(last) || !nzchar(last)) reader$missing else reader$unseen)
    }
    number <- in_unit(value, reader$kind)
    if (is.null(number)) {
      text <- if (is.na(value)) "" else trim(as.character(value))
      at <- match(text, reader$texts)
      if (!is.na(value) && !is.na(at)) return(reader$codes_of_texts[at])
      number <- number_of_text(text, reader$kind)
      if (is.null(number)) return(reader$unseen)
    }
    if (is.na(number)) return(reader$missing)
    at <- match(number, reader$numbers)
    if (!is.na(at)) return(reader$codes_of_numbers[at])
    if (is.null(reader$cuts)) return(reader$unseen)
    if (reader$finite && is.infinite(number)) {
      stop(sprintf("Column '%s' contains infinity; give NA, or a finite limit.", reader$column), call. = FALSE)
    }
    reader$first + sum(unlist(reader$cuts) < number)
  }

  with_keys <- function(reader) {
    sizes <- vapply(reader$values, length, 0L)
    keys <- unlist(lapply(reader$values, as.list), recursive = FALSE)
    codes <- rep(seq_along(sizes) - 1, sizes)
    are_texts <- vapply(keys, is.character, TRUE)
    reader$texts <- enc2utf8(as.character(unlist(keys[are_texts])))
    reader$codes_of_texts <- codes[are_texts]
    reader$numbers <- as.numeric(unlist(keys[!are_texts]))
    reader$codes_of_numbers <- codes[!are_texts]
    reader
  }

  readers <- lapply(model$readers, with_keys)
  grids <- lapply(model$terms, function(term) if (is.null(term$grid)) NULL else
    matrix(unlist(term$grid), nrow = length(term$grid), byrow = TRUE))
  tables <- lapply(model$terms, function(term)  # log odds against the first class, cells x classes
    cbind(0, matrix(unlist(lapply(term$cells, function(cell) cell[[2]])), nrow = length(term$cells), byrow = TRUE)))

  scored <- function(rows) {
    if (!is.data.frame(rows)) stop("Give the rows as a data frame.", call. = FALSE)
    names <- vapply(model$columns, function(column) column$name, "")
    lacking <- setdiff(names, base::names(rows))
    if (length(lacking)) {
      stop(sprintf("The rows lack the column '%s', which the model needs; NA stands for missing.", lacking[1]),
           call. = FALSE)
    }
    codes <- lapply(readers[seq_len(n_of_terms)], codes_of, rows)
    lines <- Map(function(term, grid) {
      one <- codes[[term$readers[[1]] + 1]] + 1
      if (is.null(grid)) one else grid[cbind(one, codes[[term$readers[[2]] + 1]] + 1)] + 1
    }, model$terms, grids)
    odds <- matrix(c(0, unlist(model$intercept)), nrow(rows), length(model$classes), byrow = TRUE)
    for (k in seq_along(lines)) odds <- odds + tables[[k]][lines[[k]], , drop = FALSE]
    best <- max.col(odds, ties.method = "first")
    list(codes = codes, lines = lines, odds = odds, best = best)
  }

  labels <- vapply(model$classes, function(label) if (is.logical(label)) {
    if (label) "True" else "False"
  } else as.character(label), "")

  score <<- function(rows) {
    parts <- scored(rows)
    shares <- exp(parts$odds - apply(parts$odds, 1, max))
    result <- data.frame(prediction = unlist(model$classes)[parts$best])
    if (length(labels) == 2) {
      positive <- model$positive + 1
      result$score <- parts$odds[, positive] - parts$odds[, 3 - positive]
    }
    cbind(result, stats::setNames(as.data.frame(shares / rowSums(shares)), paste0("P(", labels, ")")))
  }

  reasons <<- function(rows, n = 4) {
    parts <- scored(rows)
    n_classes <- length(labels)
    at <- if (is.null(model$reasons_against)) parts$best else rep(model$reasons_against + 1, nrow(rows))
    sign <- if (is.null(model$reasons_against)) -1 else 1
    names <- vapply(model$columns, function(column) column$name, "")
    sums <- matrix(0, nrow(rows), length(names))
    for (k in seq_along(parts$lines)) {
      term <- model$terms[[k]]
      odds <- tables[[k]][parts$lines[[k]], , drop = FALSE]
      contribution <- (n_classes * odds[cbind(seq_len(nrow(rows)), at)] - rowSums(odds)) / (n_classes - 1)
      own <- (sign * contribution - unlist(term$reference)[at]) / length(term$columns)
      for (column in match(unlist(term$columns), names)) sums[, column] <- sums[, column] + own
    }
    texts <- vapply(seq_along(names), function(j) {
      column <- model$columns[[j]]
      if (is.null(column$texts)) return(rep("", nrow(rows)))
      reader <- column$reader + 1
      codes <- if (reader <= n_of_terms) parts$codes[[reader]] else codes_of(readers[[reader]], rows)
      unlist(column$texts)[codes + 1]
    }, character(nrow(rows)))
    texts <- matrix(texts, nrow(rows))
    found <- lapply(seq_len(nrow(rows)), function(i) {
      rounded <- round(sums[i, ] * 1e9)
      order <- utils::head(order(rounded), n)
      order <- order[rounded[order] < 0]
      data.frame(row = rep(i, length(order)), rank = seq_along(order), column = names[order], text = texts[i, order],
                 contribution = sign * sums[i, order])
    })
    do.call(rbind, found)
  }
})
