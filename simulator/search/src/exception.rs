//! The exceptions of Elasticsearch 1.5 and of the libraries in it.
//!
//! Guarantees: an error has one of these and no text, so that two places cannot spell it differently.
//! Source: the classes of Elasticsearch 1.5.2 and of Java.

use std::fmt;

macro_rules! exceptions {
    ($($name:ident = $class:literal,)*) => {
        /// An exception of Elasticsearch 1.5, of its libraries, or of Java.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[non_exhaustive]
        pub enum Exception {
            $(#[doc = concat!("`", $class, "`")] $name,)*
        }

        impl Exception {
            /// Full name of the class.
            pub fn class(self) -> &'static str {
                match self {
                    $(Exception::$name => $class,)*
                }
            }
        }
    };
}

exceptions! {
    ActionRequestValidation = "org.elasticsearch.action.ActionRequestValidationException",
    AggregationExecution = "org.elasticsearch.search.aggregations.AggregationExecutionException",
    AggregationInitialization = "org.elasticsearch.search.aggregations.AggregationInitializationException",
    AliasesMissing = "org.elasticsearch.rest.action.admin.indices.alias.delete.AliasesMissingException",
    AlreadyExpired = "org.elasticsearch.index.AlreadyExpiredException",
    Arithmetic = "java.lang.ArithmeticException",
    ArrayIndexOutOfBounds = "java.lang.ArrayIndexOutOfBoundsException",
    BroadcastShardOperationFailed = "org.elasticsearch.action.support.broadcast.BroadcastShardOperationFailedException",
    CircuitBreaking = "org.elasticsearch.common.breaker.CircuitBreakingException",
    ClassCast = "java.lang.ClassCastException",
    ClassNotFound = "java.lang.ClassNotFoundException",
    ClusterBlock = "org.elasticsearch.cluster.block.ClusterBlockException",
    DfsPhaseExecution = "org.elasticsearch.search.dfs.DfsPhaseExecutionException",
    DocumentAlreadyExists = "org.elasticsearch.index.engine.DocumentAlreadyExistsException",
    DocumentMissing = "org.elasticsearch.index.engine.DocumentMissingException",
    DocumentSourceMissing = "org.elasticsearch.index.engine.DocumentSourceMissingException",
    EarlyExit = "org.antlr.runtime.EarlyExitException",
    Elasticsearch = "org.elasticsearch.ElasticsearchException",
    ElasticsearchGeneration = "org.elasticsearch.ElasticsearchGenerationException",
    ElasticsearchIllegalArgument = "org.elasticsearch.ElasticsearchIllegalArgumentException",
    ElasticsearchIllegalState = "org.elasticsearch.ElasticsearchIllegalStateException",
    ElasticsearchParse = "org.elasticsearch.ElasticsearchParseException",
    ElasticsearchTimeout = "org.elasticsearch.ElasticsearchTimeoutException",
    Engine = "org.elasticsearch.index.engine.EngineException",
    EsRejectedExecution = "org.elasticsearch.common.util.concurrent.EsRejectedExecutionException",
    ExpressionScriptCompilation = "org.elasticsearch.script.expression.ExpressionScriptCompilationException",
    ExpressionScriptExecution = "org.elasticsearch.script.expression.ExpressionScriptExecutionException",
    FacetPhaseExecution = "org.elasticsearch.search.facet.FacetPhaseExecutionException",
    FailedToResolveConfig = "org.elasticsearch.env.FailedToResolveConfigException",
    FetchPhaseExecution = "org.elasticsearch.search.fetch.FetchPhaseExecutionException",
    IllegalArgument = "java.lang.IllegalArgumentException",
    IllegalFieldValue = "org.elasticsearch.common.joda.time.IllegalFieldValueException",
    IllegalState = "java.lang.IllegalStateException",
    IndexAlreadyExists = "org.elasticsearch.indices.IndexAlreadyExistsException",
    IndexClosed = "org.elasticsearch.indices.IndexClosedException",
    IndexCreation = "org.elasticsearch.indices.IndexCreationException",
    IndexMissing = "org.elasticsearch.indices.IndexMissingException",
    IndexTemplateAlreadyExists = "org.elasticsearch.indices.IndexTemplateAlreadyExistsException",
    IndexTemplateMissing = "org.elasticsearch.indices.IndexTemplateMissingException",
    IndexWarmerMissing = "org.elasticsearch.search.warmer.IndexWarmerMissingException",
    InvalidAliasName = "org.elasticsearch.indices.InvalidAliasNameException",
    InvalidIndexName = "org.elasticsearch.indices.InvalidIndexNameException",
    InvalidIndexTemplate = "org.elasticsearch.indices.InvalidIndexTemplateException",
    InvalidTypeName = "org.elasticsearch.indices.InvalidTypeNameException",
    Io = "java.io.IOException",
    JavaParse = "java.text.ParseException",
    JsonParse = "org.elasticsearch.common.jackson.core.JsonParseException",
    LuceneParse = "org.apache.lucene.queryparser.classic.ParseException",
    Mapper = "org.elasticsearch.index.mapper.MapperException",
    MapperParsing = "org.elasticsearch.index.mapper.MapperParsingException",
    MergeMapping = "org.elasticsearch.index.mapper.MergeMappingException",
    MismatchedSet = "org.antlr.runtime.MismatchedSetException",
    MismatchedToken = "org.antlr.runtime.MismatchedTokenException",
    MissingToken = "org.antlr.runtime.MissingTokenException",
    Mustache = "org.elasticsearch.common.mustache.MustacheException",
    NegativeArraySize = "java.lang.NegativeArraySizeException",
    NoClassSettings = "org.elasticsearch.common.settings.NoClassSettingsException",
    NoSuchElement = "java.util.NoSuchElementException",
    NoViableAlt = "org.antlr.runtime.NoViableAltException",
    NullPointer = "java.lang.NullPointerException",
    NumberFormat = "java.lang.NumberFormatException",
    PatternSyntax = "java.util.regex.PatternSyntaxException",
    QueryParsing = "org.elasticsearch.index.query.QueryParsingException",
    QueryPhaseExecution = "org.elasticsearch.search.query.QueryPhaseExecutionException",
    ReadTimeout = "org.elasticsearch.common.netty.handler.timeout.ReadTimeoutException",
    ReduceSearchPhase = "org.elasticsearch.action.search.ReduceSearchPhaseException",
    Repository = "org.elasticsearch.repositories.RepositoryException",
    RepositoryMissing = "org.elasticsearch.repositories.RepositoryMissingException",
    RoutingMissing = "org.elasticsearch.action.RoutingMissingException",
    Runtime = "java.lang.RuntimeException",
    Script = "org.elasticsearch.script.ScriptException",
    ScriptParameterParse = "org.elasticsearch.script.ScriptParameterParser$ScriptParameterParseException",
    SearchContextMissing = "org.elasticsearch.search.SearchContextMissingException",
    SearchParse = "org.elasticsearch.search.SearchParseException",
    SearchPhaseExecution = "org.elasticsearch.action.search.SearchPhaseExecutionException",
    Settings = "org.elasticsearch.common.settings.SettingsException",
    StrictDynamicMapping = "org.elasticsearch.index.mapper.StrictDynamicMappingException",
    StringIndexOutOfBounds = "java.lang.StringIndexOutOfBoundsException",
    TimestampParsing = "org.elasticsearch.action.TimestampParsingException",
    TokenMgrError = "org.apache.lucene.queryparser.classic.TokenMgrError",
    TooComplexToDeterminize = "org.apache.lucene.util.automaton.TooComplexToDeterminizeException",
    TooLongFrame = "org.elasticsearch.common.netty.handler.codec.frame.TooLongFrameException",
    TooManyClauses = "org.apache.lucene.search.BooleanQuery$TooManyClauses",
    TypeMissing = "org.elasticsearch.indices.TypeMissingException",
    UncheckedExecution = "org.elasticsearch.common.util.concurrent.UncheckedExecutionException",
    UnsupportedOperation = "java.lang.UnsupportedOperationException",
    UnwantedToken = "org.antlr.runtime.UnwantedTokenException",
    VersionConflictEngine = "org.elasticsearch.index.engine.VersionConflictEngineException",
    WriteFailure = "org.elasticsearch.action.WriteFailureException",
}

impl Exception {
    /// Name of the class without its package.
    pub fn name(self) -> &'static str {
        let class = self.class();
        class.rsplit(['.', '$']).next().unwrap_or(class)
    }

    /// Returns whether it is one of Elasticsearch's own, which tell their causes.
    pub(crate) fn is_elasticsearch(self) -> bool {
        const LIBRARIES: [&str; 4] = ["jackson", "joda", "mustache", "netty"];
        let class = self.class().strip_prefix("org.elasticsearch.");
        class.is_some_and(|class| {
            let library = class.strip_prefix("common.").and_then(|rest| rest.split('.').next());
            self != Exception::UncheckedExecution && library.is_none_or(|library| !LIBRARIES.contains(&library))
        })
    }
}

impl fmt::Display for Exception {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exceptions_have_the_names_of_their_classes() {
        assert_eq!(Exception::NullPointer.to_string(), "NullPointerException");
        assert_eq!(Exception::TooManyClauses.to_string(), "TooManyClauses");
    }

    #[test]
    fn the_exceptions_of_libraries_are_not_of_elasticsearch() {
        assert!(Exception::Settings.is_elasticsearch() && Exception::IndexMissing.is_elasticsearch());
        assert!(!Exception::JsonParse.is_elasticsearch() && !Exception::NullPointer.is_elasticsearch());
        assert!(!Exception::UncheckedExecution.is_elasticsearch());
    }
}
